"""A server on loopback that speaks every wire shape, and fails in every way, on demand.

It answers as a model would that decides by a hash of the question and its evidence, so the right replies are known
whatever went wrong in between. Run in a thread (``with FaultServer(...) as server``) or by itself
(``python fault_server.py '{"latency_s": 0.1}'``, which prints its port).

``server.answered`` maps the hash of a request body to how often it was answered well; ``server.received`` to how often
it came.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import hashlib
import json
import random
import sys
import threading
import time
from email.utils import formatdate
from typing import Any

FAULTS = (
    "408",
    "429",
    "429-date",
    "500",
    "502-html",
    "503",
    "529",
    "reset",
    "cut",
    "html",
    "error-in-200",
    "error-in-choice",
    "empty",
    "no-body",
)


class FaultServer:
    """Serves one loopback port.

    Args:
        latency_s: before each answer.
        fault_rate, faults: how often, and which, a request fails; drawn by ``seed``.
        status: every request gets this status, with ``message`` inside an error object.
        key: 401 unless it is the bearer token.
        provider, model: what replies name.
        reply: called with (path, body) -> the JSON reply, or (status, JSON) instead of the deciding model.
    """

    def __init__(
        self,
        *,
        latency_s: float = 0.0,
        fault_rate: float = 0.0,
        faults: tuple[str, ...] = FAULTS,
        seed: int = 0,
        status: int = 0,
        message: str = "no",
        key: str = "",
        provider: str = "",
        model: str = "served",
        retry_after: str = "0.02",
        reply: Any = None,
    ) -> None:
        self.latency_s, self.fault_rate, self.faults = latency_s, fault_rate, faults
        self.status, self.message, self.key = status, message, key
        self.provider, self.model, self.retry_after, self.reply = provider, model, retry_after, reply
        self.random = random.Random(seed)
        self.received: collections.Counter[str] = collections.Counter()
        self.answered: collections.Counter[str] = collections.Counter()
        self.failed: collections.Counter[str] = collections.Counter()
        self.bodies: list[tuple[str, dict[str, Any]]] = []
        self.headers: list[dict[str, str]] = []
        self.connections = 0
        self.first_at = self.last_at = 0.0
        self.in_flight = self.most_in_flight = 0
        self.port = 0

    # -- running it

    def __enter__(self) -> FaultServer:
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._open: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._connected, "127.0.0.1", self.port, backlog=512)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    def run_forever(self) -> None:
        self._ready = threading.Event()

        async def main() -> None:
            serving = asyncio.ensure_future(self._serve())
            while not self._ready.is_set():
                await asyncio.sleep(0.01)
            print(self.port, flush=True)
            await serving

        asyncio.run(main())

    # -- one connection

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(task)
            writer.transport.abort()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in head[1:] if line)}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        if method == "GET":
            await self._get(writer, path)
            return True
        self.headers.append(headers)
        body = json.loads(raw)
        digest = hashlib.sha256(raw).hexdigest()
        self.received[digest] += 1
        self.first_at = self.first_at or time.monotonic()
        if len(self.bodies) < 10_000:
            self.bodies.append((path, body))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            if self.latency_s:
                await asyncio.sleep(self.latency_s)
            return await self._answer(writer, path, body, headers, digest)
        finally:
            self.in_flight -= 1
            self.last_at = time.monotonic()

    async def _get(self, writer: asyncio.StreamWriter, path: str) -> None:
        if path == "/stats":
            await self._send(
                writer,
                200,
                {
                    "received": self.received,
                    "answered": self.answered,
                    "failed": self.failed,
                    "connections": self.connections,
                    "most_in_flight": self.most_in_flight,
                    "span_s": self.last_at - self.first_at,
                },
            )
        else:
            await self._send(writer, 200, {"data": [{"id": self.model}]})

    async def _answer(
        self, writer: asyncio.StreamWriter, path: str, body: dict[str, Any], headers: dict[str, str], digest: str
    ) -> bool:
        if self.key and headers.get("authorization") != f"Bearer {self.key}":
            said = headers.get("authorization", "")
            await self._send(writer, 401, {"error": {"code": 401, "message": f"invalid key: {said}"}})
            return True
        if self.status:
            await self._send(writer, self.status, {"error": {"code": self.status, "message": self.message}})
            return True
        if self.random.random() < self.fault_rate:
            kind = self.random.choice(self.faults)
            self.failed[kind] += 1
            return await self._fail(writer, path, body, kind)
        self.answered[digest] += 1
        said = self.reply(path, body) if self.reply else self.decide(path, body)
        status, data = said if isinstance(said, tuple) else (200, said)
        await self._send(writer, status, data)
        return True

    async def _fail(self, writer: asyncio.StreamWriter, path: str, body: dict[str, Any], kind: str) -> bool:
        if kind[:3].isdigit():
            extra = {"retry-after": self.retry_after} if kind in ("429", "503") else {}
            if kind == "429-date":
                extra = {"retry-after": formatdate(usegmt=True)}
            data: Any = (
                "<html><body>Bad gateway</body></html>"
                if kind == "502-html"
                else {"error": {"code": int(kind[:3]), "message": "try again"}}
            )
            await self._send(writer, int(kind[:3]), data, extra)
            return True
        if kind == "reset":
            return False
        good = json.dumps(self.decide(path, body)).encode()
        if kind == "cut":
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(good))
            writer.write(good[: len(good) // 2])
            await writer.drain()
            return False
        if kind == "html":
            await self._send(writer, 200, "<!doctype html><title>Just a moment</title>")
        elif kind == "no-body":
            await self._send(writer, 200, "")
        elif kind == "error-in-200":
            await self._send(writer, 200, {"error": {"code": 429, "message": "slow down", "metadata": {}}})
        elif kind == "error-in-choice":
            await self._send(
                writer,
                200,
                {
                    "choices": [
                        {
                            "error": {"code": 502, "message": "upstream"},
                            "finish_reason": "error",
                            "message": {"content": ""},
                        }
                    ]
                },
            )
        else:  # empty
            await self._send(writer, 200, {"choices": [{"finish_reason": "stop", "message": {"content": None}}]})
        return True

    async def _send(
        self, writer: asyncio.StreamWriter, status: int, data: Any, headers: dict[str, str] | None = None
    ) -> None:
        raw = (
            data.encode("utf-8", "surrogatepass")
            if isinstance(data, str)
            else data
            if isinstance(data, bytes)
            else json.dumps(data).encode()
        )
        lines = [f"HTTP/1.1 {status} X", "content-type: application/json", f"content-length: {len(raw)}"]
        lines += [f"{k}: {v}" for k, v in (headers or {}).items()]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + raw)
        with contextlib.suppress(ConnectionError):
            await writer.drain()

    # -- what it says

    def decide(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The reply of a model that decides by a hash, in the shape of the route."""
        common = {"id": "gen-1", "model": self.model, **({"provider": self.provider} if self.provider else {})}
        if path.endswith(("/systemone", "/alpha/decisions")):
            q = body["questions"]["q"]
            labels = list(q["criteria"])
            label = chosen(labels, body["state"])
            shares = {k: round(0.7 if k == label else 0.3 / max(1, len(labels) - 1), 2) for k in labels}
            return {
                **common,
                "answers": {"q": {"type": "choice", "choice": label, "confidence": 0.6, "probabilities": shares}},
                "usage": {"input_tokens": 100, "output_tokens": 1},
                "diagnostics": {"q": {"label_mass": 0.97}},
            }
        if path.endswith("/v1/decisions"):
            q = body["questions"][0]
            labels = [c["value"] for c in q["choices"]]
            label = chosen(labels, body["input"])
            return {
                **common,
                "answers": [
                    {
                        "type": "choice",
                        "name": q["name"],
                        "choice": label,
                        "confidence": 0.9,
                        "probabilities": [
                            {"value": k, "probability": 0.9 if k == label else 0.1 / max(1, len(labels) - 1)}
                            for k in labels
                        ],
                    }
                ],
                "usage": {
                    "input_tokens": 100,
                    "input_tokens_details": {"cached_tokens": 40},
                    "output_tokens": 2,
                    "output_tokens_details": {"reasoning_tokens": 1},
                    "total_tokens": 102,
                },
            }
        return {
            **common,
            **self._chat(body),
            "usage": {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 64}},
        }

    def _chat(self, body: dict[str, Any]) -> dict[str, Any]:
        asked = body["messages"][-1]["content"]
        if body.get("logprobs"):
            letter = chosen(["A", "B"], asked)
            top = [
                {"token": letter, "logprob": -0.4},
                {"token": f" {letter}", "logprob": -2.0},
                {"token": "B" if letter == "A" else "A", "logprob": -2.5},
                {"token": "The", "logprob": -4.0},
            ]
            return {
                "choices": [
                    {
                        "finish_reason": "length",
                        "message": {"content": letter},
                        "logprobs": {"content": [{**top[0], "top_logprobs": top}]},
                    }
                ]
            }
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
        labels = schema.get("properties", {}).get("choice", {}).get("enum", ["A", "B"])
        label = chosen(labels, asked)
        said = {
            "choice": label,
            "probabilities": {k: 0.8 if k == label else 0.2 / max(1, len(labels) - 1) for k in labels},
        }
        return {"choices": [{"finish_reason": "stop", "message": {"content": json.dumps(said)}}]}


def chosen(labels: list[str], evidence: Any) -> str:
    """The label that a hash of the evidence points to."""
    digest = hashlib.sha256(json.dumps(evidence, sort_keys=True).encode()).digest()
    return sorted(labels)[digest[0] % len(labels)]


if __name__ == "__main__":
    FaultServer(**(json.loads(sys.argv[1]) if len(sys.argv) > 1 else {})).run_forever()
