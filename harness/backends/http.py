"""What the HTTP backends share: one request, its usage, and failures as raw replies."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..probe import Part, Request, Response
from ..prompts import input_tokens
from .base import Backend
from .config import ModelConfig
from .meter import Meter
from .transport import GaveUp, Transport, close_pool


class HttpBackend(Backend):
    """A service that answers one POST a request. A subclass says where, what, and how to read it."""

    def __init__(self, config: ModelConfig, meter: Meter | None = None) -> None:
        super().__init__(config, meter)
        self.transport = Transport(config, meter)

    def url(self, request: Request) -> str:
        raise NotImplementedError

    def body(self, request: Request) -> dict[str, Any]:
        raise NotImplementedError

    def parse(self, request: Request, data: Mapping[str, Any]) -> Response:
        """The reply. Raises TransientError when it is not whole, GaveUp when asking again cannot help."""
        raise NotImplementedError

    async def complete(self, request: Request) -> Response:
        try:
            return await self.post(self.url(request), self.body(request), request)
        except GaveUp as e:
            return Response(error=str(e), finish_reason="error", tries=e.tries)

    async def post(self, url: str, body: Mapping[str, Any], request: Request) -> Response:
        """One reply with its usage counted; raises GaveUp."""
        tokens = estimated_tokens(request)
        sent = await self.transport.post(url, body, lambda data: self.parse(request, data), tokens=tokens)
        return replace(sent.value, usage=sent.usage, tries=sent.tries, latency_s=sent.latency_s)

    async def close(self) -> None:
        await close_pool()


def estimated_tokens(request: Request) -> int:
    """What a request counts towards the limit of tokens a minute before the service has said: input, and some output."""
    written = int(request.sampling.get("max_tokens", 0) or 0)
    return round(input_tokens(request)) + min(written, 500)


def data_url(part: Part) -> str:
    """An image as a data URL."""
    return f"data:{part.media_type or 'image/png'};base64,{base64.b64encode(part.image).decode()}"
