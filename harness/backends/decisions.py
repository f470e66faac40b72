"""Typed decision APIs in three shapes: the evidence is the state, the question the instructions, the options a map
from label to description (optical-spectra paper, appendix B).

Options of such a model in ``specs/models.yaml``:

    shape     ``systemone`` (System One, also as vLLM serves it), ``openai``, or ``openrouter``
    path      of the route below base_url; the shape's own by default (OpenRouter's is known second-hand only)
    images    ``field`` (``images: [data URL]``, as vLLM takes them), ``state`` (inside the state, as a list of parts)
    detail    of images in the openai shape: low, high, auto (default) or original
    chat_template_kwargs, provider, quantization, reasoning, extra_body, key_optional   as for chat and openrouter
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..errors import BackendError, TransientError, near
from ..probe import Option, Request, Response
from .chat import model_id
from .config import ModelConfig
from .http import HttpBackend, data_url
from .meter import Meter, usage
from .openrouter import routing, served_as_asked

PATHS = {"systemone": "/v1/systemone", "openai": "/v1/decisions", "openrouter": "/api/alpha/decisions"}
IMAGES = {"systemone": "field", "openai": "input", "openrouter": "state"}
_Q = "q"


class Decisions(HttpBackend):
    """One typed question a request."""

    def __init__(self, config: ModelConfig, meter: Meter | None = None) -> None:
        super().__init__(config, meter)
        self.shape = config.options.get("shape", "systemone")
        if self.shape not in PATHS:
            raise BackendError(f"models.{config.name}.options.shape: {self.shape!r}{near(self.shape, PATHS)}")
        self.images = config.options.get("images", IMAGES[self.shape])
        base, path = config.base_url.rstrip("/"), config.options.get("path", PATHS[self.shape])
        self._url: str = base.removesuffix("/v1") + path if path.startswith("/v1/") else base + path

    def url(self, request: Request) -> str:
        return self._url

    def body(self, request: Request) -> dict[str, Any]:
        labels = [o.label for o in request.options]
        if len(set(labels)) < len(labels):
            raise BackendError(f"{request.key}: two options are shown as {max(labels, key=labels.count)!r}; "
                               "a typed decision needs distinct labels")
        body = self._openai(request) if self.shape == "openai" else self._systemone(request)
        options = self.config.options
        if self.shape == "openrouter":
            body |= {**routing(options), "usage": {"include": True}}
        if "chat_template_kwargs" in options:
            body["chat_template_kwargs"] = dict(options["chat_template_kwargs"])
        return {**body, **options.get("extra_body", {})}

    def _systemone(self, request: Request) -> dict[str, Any]:
        state: Any = _state(request)
        body: dict[str, Any] = {"model": model_id(self.config), "state": state,
                                "questions": {name: {"type": "choice", "instructions": text, "criteria": {
                                    o.label: o.description or None for o in options}}
                                    for name, (text, options) in _questions(request).items()}}
        if request.images and self.images == "state":
            parts = [{"type": "image_url", "image_url": {"url": data_url(p)}} for p in request.images]
            body["state"] = [{"type": "text", "text": state}, *parts] if state else parts
        elif request.images:
            body["images"] = [data_url(p) for p in request.images]
        return body

    def _openai(self, request: Request) -> dict[str, Any]:
        text: Any = _state(request)
        if request.images:
            detail = self.config.options.get("detail", "auto")
            parts = [{"type": "input_image", "image_url": data_url(p), "detail": detail} for p in request.images]
            text = [{"role": "user", "content": [*parts, {"type": "input_text", "text": text}]}]
        return {"model": model_id(self.config), "input": text, "questions": [
            {"type": "choice", "name": name, "instructions": words, "choices": [
                {"value": o.label, **({"description": o.description} if o.description else {})} for o in options]}
            for name, (words, options) in _questions(request).items()]}

    def parse(self, request: Request, data: Mapping[str, Any]) -> Response:
        answers = data.get("answers")
        if isinstance(answers, dict):
            answer = answers.get(_Q)
        else:
            answer = next((a for a in answers or () if isinstance(a, dict) and a.get("name") == _Q), None)
        if not isinstance(answer, dict):
            raise TransientError("a reply without an answer to its question")
        self.transport.check(answer.get("error"))
        keys = {o.label: o.key for o in request.options}
        extra: dict[str, Any] = {}
        diagnostics = data.get("diagnostics")
        said = diagnostics.get(_Q) if isinstance(diagnostics, dict) else None
        mass = said.get("label_mass") if isinstance(said, dict) else None
        if answer.get("type") == "refusal":
            extra["refusal"] = True
        choice = answer.get("choice")
        if not extra and not isinstance(choice, str):
            raise TransientError("an answer without a choice")
        if isinstance(answer.get("confidence"), int | float):
            extra["confidence"] = float(answer["confidence"])
        response = Response(
            choice="" if extra.get("refusal") else keys.get(str(choice), str(choice)),
            option_scores={keys[k]: v for k, v in _probabilities(answer.get("probabilities")).items() if k in keys},
            scores_are="probabilities",
            label_mass=float(mass) if isinstance(mass, int | float) and 0 <= mass < math.inf else None,
            usage=usage(data.get("usage")),
            provider=str(data.get("provider") or ""),
            served_model=str(data.get("model") or ""),
            generation_id=str(data.get("id") or ""),
            extra=extra,
        )
        return served_as_asked(response, self.config.options)


def _questions(request: Request) -> dict[str, tuple[str, tuple[Option, ...]]]:
    """Name -> words and options: the question itself, and any that a probe of the interface asks beside it."""
    return {_Q: (request.question, request.options),
            **{f"{_Q}{i}": more for i, more in enumerate(request.companions, 2)}}


def _state(request: Request) -> str:
    """The evidence text; a system prompt that the suite declares goes before it."""
    return "\n\n".join(t for t in (request.system, request.evidence_text) if t)


def _probabilities(said: Any) -> dict[str, float]:
    """Label -> probability from either shape: a map, or a list of {value, probability}."""
    if isinstance(said, list):
        said = {p.get("value"): p.get("probability") for p in said if isinstance(p, dict)}
    if not isinstance(said, dict):
        return {}
    return {str(k): float(v) for k, v in said.items() if isinstance(v, int | float) and not isinstance(v, bool)}
