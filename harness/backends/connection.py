"""One HTTP/1.1 connection over asyncio streams: a POST out, a reply read to its end.

A tenth of httpcore's cost a request, which is what keeps hundreds of requests a second within one core beside pytest.
Content-Length, chunked and until-close bodies; no pipelining, no HTTP/2, no redirects, no compression asked for.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass

import httpx

IDLE_S = 30.0
"""An idle connection that is older is not used again: servers close theirs after a while without a word."""
_LIMIT = 1 << 20
_LARGEST = 1 << 28
Header = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    headers: list[Header]
    body: bytes


class Connection:
    """A connection to one origin. Use one request at a time; ``close`` after any error.

    Raises:
        httpx.ConnectError: nobody listens there, or TLS fails.
        httpx.RemoteProtocolError, httpx.ReadError: the reply is broken or cut short.
    """

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        self.host, self.port, self.tls = host, port, tls
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._used = time.monotonic()
        self._closing = False

    @property
    def usable(self) -> bool:
        """Whether another request may go out on it: young enough, and the server has not closed it."""
        reader, writer = self._reader, self._writer
        return not (self._closing or reader is None or writer is None or reader.at_eof() or writer.is_closing()
                    or time.monotonic() - self._used > IDLE_S)

    async def post(self, target: bytes, headers: Sequence[Header], body: bytes, method: str = "POST") -> Reply:
        if self._writer is None:
            await self._connect()
        assert self._writer is not None
        assert self._reader is not None
        lines = [b"%s %s HTTP/1.1" % (method.encode(), target), *(b"%s: %s" % pair for pair in headers), b"", b""]
        try:
            self._writer.write(b"\r\n".join(lines) + body)
            if len(body) > 1 << 16:
                await self._writer.drain()
            reply = await self._read(self._reader)
        except asyncio.IncompleteReadError as e:
            raise httpx.RemoteProtocolError(f"the connection closed after {len(e.partial)} bytes of a reply") from None
        except asyncio.LimitOverrunError:
            raise httpx.RemoteProtocolError("a header larger than 1 MiB") from None
        except OSError as e:
            raise httpx.ReadError(e.strerror or type(e).__name__) from None
        self._used = time.monotonic()
        return reply

    async def close(self) -> None:
        writer, self._writer, self._reader = self._writer, None, None
        if writer is not None:
            writer.transport.abort()
            with contextlib.suppress(OSError, ssl.SSLError):
                await writer.wait_closed()

    async def _connect(self) -> None:
        try:
            async with asyncio.timeout(30.0):
                self._reader, self._writer = await asyncio.open_connection(
                    self.host, self.port, ssl=self.tls, server_hostname=self.host if self.tls else None, limit=_LIMIT)
        except TimeoutError:
            raise httpx.ConnectError(f"no connection to {self.host}:{self.port} within 30 s") from None
        except OSError as e:  # ssl.SSLError is one
            raise httpx.ConnectError(f"{self.host}:{self.port}: {e.strerror or e}") from None

    async def _read(self, reader: asyncio.StreamReader) -> Reply:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            status, headers = _head(head)
            if status >= 200:
                break  # 1xx: the reply proper is still to come
        fields = {name.lower(): value for name, value in headers}
        if fields.get(b"connection", b"").lower() == b"close" or head.startswith(b"HTTP/1.0"):
            self._closing = True
        if status in (204, 304):
            return Reply(status, headers, b"")
        if b"chunked" in fields.get(b"transfer-encoding", b"").lower():
            return Reply(status, headers, await _chunks(reader))
        if b"content-length" in fields:
            return Reply(status, headers, await reader.readexactly(_number(fields[b"content-length"], 10)))
        self._closing = True
        return Reply(status, headers, await reader.read(_LARGEST))


def _head(head: bytes) -> tuple[int, list[Header]]:
    first, *lines = head[:-4].split(b"\r\n")
    parts = first.split(b" ", 2)
    if len(parts) < 2 or not parts[0].startswith(b"HTTP/1.") or not parts[1].isdigit():
        raise httpx.RemoteProtocolError("what came back is not HTTP")
    headers = []
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon:
            raise httpx.RemoteProtocolError("a header line without a colon")
        headers.append((name, value.strip()))
    return int(parts[1]), headers


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while True:
        size = _number((await reader.readuntil(b"\r\n")).partition(b";")[0].strip(), 16)
        if not size:
            while await reader.readuntil(b"\r\n") != b"\r\n":
                pass  # trailers
            return bytes(body)
        body += await reader.readexactly(size)
        await reader.readexactly(2)
        if len(body) > _LARGEST:
            raise httpx.RemoteProtocolError("a body larger than 256 MiB")


def _number(text: bytes, base: int) -> int:
    try:
        value = int(text, base)
    except ValueError:
        value = -1
    if not 0 <= value <= _LARGEST:
        raise httpx.RemoteProtocolError("a body length that is no number or too large")
    return value
