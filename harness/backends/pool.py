"""Keep-alive connections at constant cost, under httpx.

httpcore's own pool looks at every connection for every request, and at all of them again for each idle one: with 64
connections that costs 10 to 50 ms a request. Here an idle connection is taken from the top of a pile and put back when
its reply has been read to the end. Where the environment names a proxy, httpx's own transport is used.
"""

from __future__ import annotations

import collections
import ssl
import urllib.request

import httpx

from .connection import Connection

_Origin = tuple[str, str, int]


class Pool(httpx.AsyncBaseTransport):
    """As many connections as there are requests under way; reads every reply to its end before it hands it over."""

    def __init__(self) -> None:
        self._idle: dict[_Origin, list[Connection]] = collections.defaultdict(list)
        self._proxied: dict[_Origin, httpx.AsyncHTTPTransport | None] = {}
        self._ssl: ssl.SSLContext | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        if url.scheme not in ("http", "https") or not url.host:
            raise httpx.UnsupportedProtocol("an address starts with http:// or https:// and names a host")
        origin = (url.scheme, url.host, url.port or (443 if url.scheme == "https" else 80))
        if origin not in self._proxied:
            proxy = _proxy(url)
            self._proxied[origin] = httpx.AsyncHTTPTransport(proxy=proxy) if proxy else None
        proxied = self._proxied[origin]
        if proxied is not None:
            return await proxied.handle_async_request(request)
        pile = self._idle[origin]
        connection = await self._take(pile) or self._open(origin)
        try:
            reply = await connection.post(url.raw_path, request.headers.raw, request.content, request.method)
        except BaseException:
            await connection.close()
            raise
        pile.append(connection)
        return httpx.Response(reply.status, headers=reply.headers, content=reply.body, request=request)

    async def aclose(self) -> None:
        for pile in self._idle.values():
            while pile:
                await pile.pop().close()
        for proxied in self._proxied.values():
            if proxied is not None:
                await proxied.aclose()

    async def _take(self, pile: list[Connection]) -> Connection | None:
        while pile:
            connection = pile.pop()
            if connection.usable:
                return connection
            await connection.close()
        return None

    def _open(self, origin: _Origin) -> Connection:
        scheme, host, port = origin
        if scheme == "https" and self._ssl is None:
            self._ssl = httpx.create_ssl_context()
        return Connection(host, port, self._ssl if scheme == "https" else None)


def _proxy(url: httpx.URL) -> str | None:
    """The proxy that the environment names for an address; never one for this machine."""
    if url.host in ("127.0.0.1", "localhost", "::1") or urllib.request.proxy_bypass(url.host):
        return None
    proxies = urllib.request.getproxies()
    return proxies.get(url.scheme) or proxies.get("all")
