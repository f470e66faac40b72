"""Keep-alive connections at constant cost, under httpx.

httpcore's own pool looks at every connection for every request, and at all of them again for each idle one: with 64
connections that costs 10 to 50 ms a request. Here an idle connection is taken from the top of a pile and put back when
its reply has been read to the end.
"""

from __future__ import annotations

import collections
import ssl
import urllib.request
from typing import Protocol

import httpcore
import httpx

IDLE_S = 30.0
"""An idle connection that is older is not used again: servers close theirs after a while without a word."""
_Origin = tuple[bytes, bytes, int]


class _Connection(Protocol):
    async def handle_async_request(self, request: httpcore.Request) -> httpcore.Response: ...
    async def aclose(self) -> None: ...


class Pool(httpx.AsyncBaseTransport):
    """As many connections as there are requests under way; reads every reply to its end before it hands it over."""

    def __init__(self) -> None:
        self._idle: dict[_Origin, list[_Connection]] = collections.defaultdict(list)
        self._ssl: ssl.SSLContext | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        port = url.port or (443 if url.scheme == "https" else 80)
        pile = self._idle[url.raw_scheme, url.raw_host, port]
        connection = await self._take(pile) or self._open(url, port)
        asked = httpcore.Request(
            request.method, httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=port, target=url.raw_path),
            headers=request.headers.raw, content=request.content, extensions=request.extensions)
        try:
            reply = await connection.handle_async_request(asked)
            try:
                raw = b"".join([chunk async for chunk in reply.aiter_stream()])
            finally:
                await reply.aclose()
        except (httpcore.ConnectError, httpcore.ConnectTimeout) as e:
            raise httpx.ConnectError(str(e) or type(e).__name__, request=request) from None
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as e:
            raise httpx.RemoteProtocolError(str(e) or type(e).__name__, request=request) from None
        except BaseException:
            await connection.aclose()
            raise
        pile.append(connection)
        return httpx.Response(reply.status, headers=reply.headers, content=raw, request=request)

    async def aclose(self) -> None:
        for pile in self._idle.values():
            while pile:
                await pile.pop().aclose()

    async def _take(self, pile: list[_Connection]) -> _Connection | None:
        while pile:
            connection = pile.pop()
            if not isinstance(connection, httpcore.AsyncHTTPConnection):  # a proxied one looks after itself
                return connection
            if connection.is_available() and not connection.has_expired():
                return connection
            await connection.aclose()
        return None

    def _open(self, url: httpx.URL, port: int) -> _Connection:
        if url.scheme == "https" and self._ssl is None:
            self._ssl = httpx.create_ssl_context()
        proxy = _proxy(url)
        if proxy:
            return httpcore.AsyncHTTPProxy(proxy, ssl_context=self._ssl, max_connections=1, keepalive_expiry=IDLE_S)
        return httpcore.AsyncHTTPConnection(
            httpcore.Origin(url.raw_scheme, url.raw_host, port), ssl_context=self._ssl, keepalive_expiry=IDLE_S)


def _proxy(url: httpx.URL) -> str | None:
    """The proxy that the environment names for an address; never one for this machine."""
    if url.host in ("127.0.0.1", "localhost", "::1") or urllib.request.proxy_bypass(url.host):
        return None
    proxies = urllib.request.getproxies()
    return proxies.get(url.scheme) or proxies.get("all")
