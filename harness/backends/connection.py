"""One HTTP/1.1 connection as an asyncio protocol: a POST out, a reply read to its end.

A tenth of httpcore's cost a request, which is what keeps hundreds of requests a second within one core.
Content-Length, chunked and until-close bodies; no pipelining, no HTTP/2, no redirects, no compression asked for.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass

import httpx

IDLE_S = 30.0
"""An idle connection that is older is not used again: servers close theirs after a while without a word."""
CONNECT_S = 30.0
_LARGEST_HEAD = 1 << 20
_LARGEST = 1 << 28


@dataclass(frozen=True, slots=True)
class Reply:
    """``headers`` by lower-case name; of several of one name the last."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes


class Connection(asyncio.Protocol):
    """A connection to one origin. Use one request at a time; ``close`` after any error.

    Raises:
        httpx.ConnectError: nobody listens there, or TLS fails.
        httpx.RemoteProtocolError, httpx.ReadError: the reply is broken or cut short.
    """

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        self.host, self.port, self.tls = host, port, tls
        self._transport: asyncio.Transport | None = None
        self._used = time.monotonic()
        self._over = False  # the server closed, or said that it will
        self._waiting: asyncio.Future[Reply] | None = None
        self._clear()

    def _clear(self) -> None:
        self._buffer = bytearray()
        self._head: tuple[int, dict[bytes, bytes]] | None = None
        self._take: Callable[[], bytes | None] = self._until_close
        self._body = bytearray()  # chunks so far
        self._length = 0

    @property
    def usable(self) -> bool:
        """Whether another request may go out on it: young enough, and the server neither closed it nor said a word."""
        return not (self._over or self._transport is None or self._transport.is_closing() or self._buffer
                    or time.monotonic() - self._used > IDLE_S)

    async def post(self, head: bytes, secret: Callable[[], bytes], body: bytes) -> Reply:
        """Args: ``head`` is the request line and headers but for Content-Length, ``secret`` gives further header lines."""
        if self._transport is None:
            await self._connect()
        assert self._transport is not None
        self._clear()
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(b"%s%sContent-Length: %d\r\n\r\n%s" % (head, secret(), len(body), body))
        try:
            reply = await self._waiting
        finally:
            self._waiting = None
        self._used = time.monotonic()
        return reply

    def close(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.abort()

    async def _connect(self) -> None:
        try:
            async with asyncio.timeout(CONNECT_S):
                await asyncio.get_running_loop().create_connection(
                    lambda: self, self.host, self.port, ssl=self.tls, server_hostname=self.host if self.tls else None)
        except TimeoutError:
            raise httpx.ConnectError(f"no connection to {self.host}:{self.port} within {CONNECT_S:.0f} s") from None
        except OSError as e:  # ssl.SSLError is one
            raise httpx.ConnectError(f"{self.host}:{self.port}: {e.strerror or e}") from None

    # -- told by asyncio ----------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._waiting is None or self._waiting.done():
            return  # nobody asked: the connection is not used again
        try:
            if self._head is None and not self._read_head():
                return
            body = self._take()
        except httpx.RemoteProtocolError as error:
            self._waiting.set_exception(error)
            return
        if body is not None:
            self._answer(body)

    def connection_lost(self, exc: Exception | None) -> None:
        self._over = True
        if self._waiting is None or self._waiting.done():
            return
        if isinstance(exc, OSError):
            self._waiting.set_exception(httpx.ReadError(exc.strerror or type(exc).__name__))
        elif self._head is not None and self._take == self._until_close:
            self._answer(bytes(self._buffer))
        else:
            got = len(self._buffer) + len(self._body)
            self._waiting.set_exception(httpx.RemoteProtocolError(f"the connection closed after {got} bytes of a reply"))

    def _answer(self, body: bytes) -> None:
        assert self._head is not None
        assert self._waiting is not None
        self._waiting.set_result(Reply(*self._head, body))

    # -- reading a reply ----------------------------------------------------------------------------------------------

    def _read_head(self) -> bool:
        """Whether the head is complete; then it is taken out of the buffer, and how the body ends is known."""
        while True:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(self._buffer) > _LARGEST_HEAD:
                    raise httpx.RemoteProtocolError("a header larger than 1 MiB")
                return False
            head = bytes(self._buffer[:end])
            del self._buffer[: end + 4]
            status, fields = _head(head)
            if status >= 200:
                break  # 1xx: the reply proper is still to come
        self._head = status, fields
        if fields.get(b"connection", b"").lower() == b"close" or head.startswith(b"HTTP/1.0"):
            self._over = True
        if status in (204, 304):
            self._take = self._counted
        elif b"chunked" in fields.get(b"transfer-encoding", b"").lower():
            self._take = self._chunks
        elif b"content-length" in fields:
            self._take, self._length = self._counted, _number(fields[b"content-length"], 10)
        else:
            self._over = True
        return True

    def _until_close(self) -> None:
        if len(self._buffer) > _LARGEST:
            raise httpx.RemoteProtocolError("a body larger than 256 MiB")

    def _counted(self) -> bytes | None:
        if len(self._buffer) < self._length:
            return None
        body = bytes(self._buffer[: self._length])
        del self._buffer[: self._length]
        return body

    def _chunks(self) -> bytes | None:
        """Moves whole chunks out of the buffer; the body when the last one and the trailers are there."""
        while (end := self._buffer.find(b"\r\n")) >= 0:
            size = _number(bytes(self._buffer[:end]).partition(b";")[0].strip(), 16)
            if not size:
                trailers = self._buffer.find(b"\r\n\r\n", end)
                if trailers < 0:
                    return None
                del self._buffer[: trailers + 4]
                return bytes(self._body)
            if len(self._buffer) < end + size + 4:
                return None
            self._body += self._buffer[end + 2 : end + 2 + size]
            del self._buffer[: end + size + 4]
            if len(self._body) > _LARGEST:
                raise httpx.RemoteProtocolError("a body larger than 256 MiB")
        return None


def _head(head: bytes) -> tuple[int, dict[bytes, bytes]]:
    first, *lines = head.split(b"\r\n")
    parts = first.split(b" ", 2)
    if len(parts) < 2 or not parts[0].startswith(b"HTTP/1.") or not parts[1].isdigit():
        raise httpx.RemoteProtocolError("what came back is not HTTP")
    fields = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon:
            raise httpx.RemoteProtocolError("a header line without a colon")
        fields[name.lower()] = value.strip()
    return int(parts[1]), fields


def _number(text: bytes, base: int) -> int:
    try:
        value = int(text, base)
    except ValueError:
        value = -1
    if not 0 <= value <= _LARGEST:
        raise httpx.RemoteProtocolError("a body length that is no number or too large")
    return value
