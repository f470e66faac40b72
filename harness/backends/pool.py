"""Keep-alive connections at constant cost.

httpcore's own pool looks at every connection for every request, and at all of them again for each idle one: with 64
connections that costs 10 to 50 ms a request. Here an idle connection is taken from the top of a pile and put back when
its reply has been read to the end. Where the environment names a proxy, and to decode what a service compressed though
nobody asked it to, httpx is used.
"""

from __future__ import annotations

import collections
import ssl
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass

import httpx

from .connection import Connection, Reply

HEADERS = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity",
           "User-Agent": "isoprobe", "Connection": "keep-alive"}


@dataclass(frozen=True, slots=True)
class Address:
    """Where a POST goes, worked out once: the origin, and the head of the request but for key and length.

    Raises:
        httpx.InvalidURL, httpx.UnsupportedProtocol: it is no address that starts with http:// or https://.
    """

    url: httpx.URL
    origin: tuple[str, str, int]
    head: bytes
    proxy: str | None

    @classmethod
    def of(cls, text: str) -> Address:
        url = httpx.URL(text)
        if url.scheme not in ("http", "https") or not url.host:
            raise httpx.UnsupportedProtocol("an address starts with http:// or https:// and names a host")
        lines = [b"POST %s HTTP/1.1" % url.raw_path, b"Host: %s" % url.netloc,
                 *(f"{name}: {value}".encode() for name, value in HEADERS.items()), b""]
        return cls(url, (url.scheme, url.host, url.port or (443 if url.scheme == "https" else 80)), b"\r\n".join(lines),
                   _proxy(url))


class Pool:
    """As many connections as there are requests under way; reads every reply to its end before it hands it over."""

    def __init__(self) -> None:
        self._idle: dict[tuple[str, str, int], list[Connection]] = collections.defaultdict(list)
        self._proxies: dict[str, httpx.AsyncHTTPTransport] = {}
        self._ssl: ssl.SSLContext | None = None

    async def post(self, to: Address, body: bytes, secret: Callable[[], bytes]) -> Reply:
        """One POST. ``secret`` gives the header lines that no traceback shall show.

        Raises:
            httpx.TransportError, httpx.DecodingError: no whole reply came.
        """
        if to.proxy is not None:
            return await self._through(to.proxy, to, body, secret)
        pile = self._idle[to.origin]
        connection = self._idle_one(pile) or self._open(to.origin)
        try:
            reply = await connection.post(to.head, secret, body)
        except BaseException:
            connection.close()
            raise
        pile.append(connection)
        if reply.headers.get(b"content-encoding", b"identity") == b"identity":
            return reply
        decoded = httpx.Response(reply.status, headers=list(reply.headers.items()), content=reply.body)
        return Reply(reply.status, reply.headers, decoded.content)

    async def aclose(self) -> None:
        for pile in self._idle.values():
            while pile:
                pile.pop().close()
        for proxied in self._proxies.values():
            await proxied.aclose()

    def _idle_one(self, pile: list[Connection]) -> Connection | None:
        while pile:
            connection = pile.pop()
            if connection.usable:
                return connection
            connection.close()
        return None

    def _open(self, origin: tuple[str, str, int]) -> Connection:
        scheme, host, port = origin
        if scheme == "https" and self._ssl is None:
            self._ssl = httpx.create_ssl_context()
        return Connection(host, port, self._ssl if scheme == "https" else None)

    async def _through(self, proxy: str, to: Address, body: bytes, secret: Callable[[], bytes]) -> Reply:
        if proxy not in self._proxies:
            self._proxies[proxy] = httpx.AsyncHTTPTransport(proxy=proxy)
        request = httpx.Request("POST", to.url, headers=HEADERS, content=body)
        for line in secret().splitlines():
            name, _, value = line.partition(b": ")
            request.headers[name.decode()] = value.decode()
        reply = await self._proxies[proxy].handle_async_request(request)
        await reply.aread()
        return Reply(reply.status_code, {name.lower(): value for name, value in reply.headers.raw}, reply.content)


def _proxy(url: httpx.URL) -> str | None:
    """The proxy that the environment names for an address; never one for this machine."""
    if url.host in ("127.0.0.1", "localhost", "::1") or urllib.request.proxy_bypass(url.host):
        return None
    proxies = urllib.request.getproxies()
    return proxies.get(url.scheme) or proxies.get("all")
