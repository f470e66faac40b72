"""The loopback server of the comparison: the fault server of the tests with every field that OpenAI's replies have.

By itself: ``python server.py '{"latency_s": 0.1}'``, which prints its port. ``/stats`` also says when the first request
came, on the machine's monotonic clock.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

from harness.tests.fault_server import FaultServer


class Server(FaultServer):
    async def _get(self, writer: asyncio.StreamWriter, path: str) -> None:
        if path == "/stats":
            answered, failed = sum(self.answered.values()), sum(self.failed.values())
            await self._send(writer, 200, {"answered": answered, "failed": failed, "first_at": self.first_at,
                                           "span_s": self.last_at - self.first_at, "connections": self.connections,
                                           "most_in_flight": self.most_in_flight})
        else:
            await super()._get(writer, path)

    def decide(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        said = super().decide(path, body)
        for index, choice in enumerate(said["choices"]):
            choice.update(index=index)
            choice["message"]["role"] = "assistant"
        used = {**said["usage"], "total_tokens": said["usage"]["prompt_tokens"] + said["usage"]["completion_tokens"]}
        return {**said, "usage": used, "object": "chat.completion", "created": int(time.time())}


if __name__ == "__main__":
    Server(**json.loads(sys.argv[1])).run_forever()
