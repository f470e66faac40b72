"""One HTTP/1.1 connection against bytes as a server may send them: whole, in pieces, cut short, or not HTTP at all."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence

import httpx
import pytest

from harness.backends import connection
from harness.backends.connection import Connection, Reply

OK = b"HTTP/1.1 200 OK\r\n"


async def served(*replies: Sequence[bytes], requests: int = 1) -> tuple[list[Reply], bool]:
    """What ``requests`` posts on one connection get from a server that sends the pieces of one reply after another and
    then closes; and whether the connection could be used again."""
    told = iter(replies)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for pieces in told:
            await reader.readuntil(b"\r\n\r\n")
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0.01)
            if len(replies) == 1:
                break
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    one = Connection("127.0.0.1", port, None)
    got, usable = [], False
    try:
        for _ in range(requests):
            got.append(await asyncio.wait_for(one.post(b"POST / HTTP/1.1\r\n", lambda: b"", b""), 10))
            usable = one.usable
    finally:
        one.close()
        server.close()
    return got, usable


def bodies(*pieces: bytes) -> list[bytes]:
    return [r.body for r in asyncio.run(served(pieces))[0]]


@pytest.mark.parametrize("pieces, body", [
    ([OK + b"Content-Length: 5\r\n\r\nhello"], b"hello"),
    ([OK[:9], OK[9:] + b"content-length: 5\r", b"\n\r\nhe", b"llo"], b"hello"),
    ([OK + b"Content-Length: 0\r\n\r\n"], b""),
    ([b"HTTP/1.1 204 No Content\r\n\r\n"], b""),
    ([b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 2\r\n\r\nok"], b"ok"),
    ([OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;x=y\r\n!\r\n0\r\n\r\n"], b"hello!"),
    ([OK + b"Transfer-Encoding: chunked\r\n\r\n5\r", b"\nhel", b"lo\r\n0\r\nA: b\r\n", b"\r\n"], b"hello"),
    ([OK + b"\r\nuntil ", b"the end"], b"until the end"),
    ([b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"], b"ok"),
], ids=["counted", "in pieces", "empty", "no content", "continue first", "chunks", "chunks in pieces", "until it closes",
        "of 1.0"])
def test_a_body_is_read_to_its_end_however_it_is_told(pieces, body):
    assert [body] == bodies(*pieces)


@pytest.mark.parametrize("pieces, message", [
    ([OK + b"Content-Length: 9\r\n\r\nhello"], "the connection closed after 5 bytes of a reply"),
    ([OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"], "the connection closed after 5 bytes of a reply"),
    ([OK[:12]], "the connection closed after 12 bytes of a reply"),
    ([b"\x16\x03\x01 something else\r\n\r\n"], "what came back is not HTTP"),
    ([b"HTTP/1.1 fine\r\n\r\n"], "what came back is not HTTP"),
    ([OK + b"no colon here\r\n\r\n"], "a header line without a colon"),
    ([OK + b"Content-Length: many\r\n\r\n"], "a body length that is no number or too large"),
    ([OK + b"Content-Length: -1\r\n\r\n"], "a body length that is no number or too large"),
    ([OK + b"Content-Length: 99999999999\r\n\r\n"], "a body length that is no number or too large"),
    ([OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"], "a body length that is no number or too large"),
], ids=["cut short", "chunks cut short", "head cut short", "not HTTP", "no status", "no colon", "length of words",
        "negative", "too long", "chunk of words"])
def test_a_broken_reply_is_one_error_that_says_what_is_wrong(pieces, message):
    with pytest.raises(httpx.RemoteProtocolError, match=message):
        bodies(*pieces)


@pytest.mark.parametrize("limit, pieces, message", [
    ("_LARGEST_HEAD", [OK + b"a: " + b"x" * 3_000], "a header larger than"),
    ("_LARGEST", [OK + b"\r\n" + b"x" * 3_000], "a body larger than"),
    ("_LARGEST", [OK + b"Transfer-Encoding: chunked\r\n\r\n" + (b"3e8\r\n" + b"x" * 1_000 + b"\r\n") * 2],
     "a body larger than"),
])
def test_a_reply_without_end_is_refused(monkeypatch, limit, pieces, message):
    monkeypatch.setattr(connection, limit, 1_500)
    with pytest.raises(httpx.RemoteProtocolError, match=message):
        bodies(*pieces)


@pytest.mark.parametrize("head, usable", [
    (OK, True), (OK + b"Connection: close\r\n", False), (b"HTTP/1.0 200 OK\r\n", False),
], ids=["kept", "closed by the server", "of 1.0"])
def test_a_connection_is_used_again_unless_the_server_said_that_it_closes(head, usable):
    reply = [head + b"Content-Length: 2\r\n\r\nok"]
    got, again = asyncio.run(served(reply, reply))
    assert (["ok"], usable) == ([r.body.decode() for r in got], again)


def test_replies_that_follow_one_another_on_a_connection_stay_apart():
    got, _ = asyncio.run(served([OK + b"Content-Length: 3\r\n\r\none"],
                                [OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n0\r\n\r\n"],
                                [b"HTTP/1.1 204 No Content\r\n\r\n"], requests=3))
    assert [(200, b"one"), (200, b"two"), (204, b"")] == [(r.status, r.body) for r in got]


def test_bytes_that_nobody_asked_for_end_the_use_of_a_connection():
    got, usable = asyncio.run(served([OK + b"Content-Length: 2\r\n\r\nok and more"], []))
    assert ([b"ok"], False) == ([r.body for r in got], usable)


def test_nobody_listening_is_an_error_with_the_address():
    with socket.socket() as bound:  # and not listening
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        with pytest.raises(httpx.ConnectError, match=rf"127\.0\.0\.1:{port}: "):
            asyncio.run(Connection("127.0.0.1", port, None).post(b"POST / HTTP/1.1\r\n", lambda: b"", b""))


def test_a_connection_that_takes_too_long_is_an_error_with_the_time(monkeypatch):
    async def never(*_: object, **__: object) -> None:
        await asyncio.sleep(10)

    async def ask() -> None:
        monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", never)
        await Connection("host", 80, None).post(b"POST / HTTP/1.1\r\n", lambda: b"", b"")

    monkeypatch.setattr(connection, "CONNECT_S", 0.05)
    with pytest.raises(httpx.ConnectError, match="no connection to host:80 within"):
        asyncio.run(ask())
