"""OpenAI-compatible chat completions: vLLM, llama.cpp's server, OpenRouter, and most hosted models.

Options of such a model in ``specs/models.yaml``:

    chat_template_kwargs   e.g. {enable_thinking: false}; sent at the top level, as vLLM takes it
    extra_body             further fields of the body, sent as they are (repetition_detection, ...)
    response_format        false sends no JSON schema with json_choice (for servers that refuse it)
    top_logprobs           candidates asked for with option_letters (default 20, the most that vLLM and OpenAI give)
    images                 ``first`` (default: all images, then the text) or ``in_order`` (as the evidence has them)
    max_tokens_field       ``max_completion_tokens`` where a service wants that name
    key_optional           true: no error where the variable of key_env is not set
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import TransientError
from ..probe import Request, Response, Usage
from .config import ModelConfig
from .http import HttpBackend, data_url
from .meter import usage
from .schema import choice_schema
from .transport import GaveUp

DEFAULTS = {"temperature": 0.0, "max_tokens": 2048}
_SPACES = " \t\n\r\u2581\u0120"  # a token's leading space, also as SentencePiece and byte-level BPE write it


class Chat(HttpBackend):
    """One chat completion a request."""

    def url(self, request: Request) -> str:
        return f"{self.config.base_url.rstrip('/')}/chat/completions"

    def body(self, request: Request) -> dict[str, Any]:
        options = self.config.options
        sampling = {**DEFAULTS, **request.sampling}
        body: dict[str, Any] = {"model": model_id(self.config), "messages": messages(
            request, images_first=options.get("images", "first") == "first")}
        if request.readout == "option_letters":
            sampling["max_tokens"] = 1
            body |= {"logprobs": True, "top_logprobs": int(options.get("top_logprobs", 20))}
        elif request.readout == "json_choice" and options.get("response_format", True):
            body["response_format"] = {"type": "json_schema", "json_schema": {
                "name": "decision", "strict": True, "schema": choice_schema(request)}}
        if "max_tokens_field" in options:
            sampling[options["max_tokens_field"]] = sampling.pop("max_tokens")
        if "chat_template_kwargs" in options:
            body["chat_template_kwargs"] = dict(options["chat_template_kwargs"])
        return {**body, **sampling, **options.get("extra_body", {})}

    def parse(self, request: Request, data: Mapping[str, Any]) -> Response:
        choices = data.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise TransientError("a reply without choices")
        choice = choices[0]
        self.transport.check(choice.get("error"))
        finish = str(choice.get("finish_reason") or "stop")
        if choice.get("stop_reason") == "repetition_detected" or choice.get("native_finish_reason") == "repetition":
            finish = "repetition"
        if finish == "error":
            raise TransientError("finish_reason error without an error object")
        common: dict[str, Any] = {
            "finish_reason": finish,
            "usage": usage(data.get("usage")),
            "provider": str(data.get("provider") or ""),
            "served_model": str(data.get("model") or ""),
            "generation_id": str(data.get("id") or ""),
        }
        text = _text(choice.get("message"))
        if request.readout == "option_letters":
            scores, mass = letter_scores(choice.get("logprobs"), request)
            return Response(text=text, option_scores=scores, label_mass=mass, **common)
        if not text.strip() and finish == "stop":
            raise TransientError("an empty reply")
        return Response(text=text, **common)

    async def complete(self, request: Request) -> Response:
        if request.readout != "option_text":
            return await super().complete(request)
        try:
            return await self._option_text(request)
        except GaveUp as e:
            return Response(error=str(e), finish_reason="error", tries=e.tries)

    async def _option_text(self, request: Request) -> Response:
        """Each option's text after the prompt, scored by the completions route with ``echo``."""
        prompt = "\n\n".join(t for t in (request.system, request.text) if t)
        url = f"{self.config.base_url.rstrip('/')}/completions"
        model = model_id(self.config)

        async def one(label: str) -> Any:
            body = {"model": model, "prompt": f"{prompt} {label}", "max_tokens": 1, "temperature": 0.0, "echo": True,
                    "logprobs": 1}
            return await self.transport.post(
                url, body, lambda data: (data, *continuation(data, len(prompt), len(prompt) + 1 + len(label))))

        first = await one(request.options[0].label)  # fills the prefix cache for the others
        sent = [first, *await asyncio.gather(*(one(o.label) for o in request.options[1:]))]
        keys = [o.key for o in request.options]
        used = [s.usage for s in sent]
        return Response(
            option_scores={k: s.value[1] for k, s in zip(keys, sent, strict=True)},
            extra={"option_tokens": {k: s.value[2] for k, s in zip(keys, sent, strict=True)}},
            usage=Usage(sum(u.tokens_in or 0 for u in used), None, sum(u.tokens_out or 0 for u in used), None,
                        sum(u.cost_usd or 0.0 for u in used) if any(u.cost_usd is not None for u in used) else None),
            served_model=str(first.value[0].get("model") or ""), generation_id=str(first.value[0].get("id") or ""),
            latency_s=sum(s.latency_s for s in sent), tries=sum(s.tries for s in sent) - len(sent) + 1)


def model_id(config: ModelConfig) -> str:
    """The id to ask for: an adapter is one more model of its server, by name or by the name of its folder."""
    return Path(config.adapter).name if config.adapter else config.model


def messages(request: Request, *, images_first: bool = True) -> list[dict[str, Any]]:
    """System, then one user message: images before the text, or the evidence in its own order."""
    out: list[dict[str, Any]] = [{"role": "system", "content": request.system}] if request.system else []
    if not request.images:
        return [*out, {"role": "user", "content": request.text}]
    # the modality suites put their parts in order themselves: pictures first, or each behind its own caption
    if images_first and request.readout != "labelled_lines":
        parts = [_image(part) for part in request.images] + [{"type": "text", "text": request.text}]
    else:
        parts = [_image(p) if p.image else {"type": "text", "text": p.text} for p in request.evidence]
        if request.prompt:
            parts.append({"type": "text", "text": request.prompt})
    return [*out, {"role": "user", "content": parts}]


def _image(part: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": data_url(part)}}


def _text(message: Any) -> str:
    """The reply's text, with reasoning that came in a field of its own put back inline."""
    message = message if isinstance(message, dict) else {}
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(p.get("text", "")) for p in content if isinstance(p, dict))
    content = content if isinstance(content, str) else str(message.get("refusal") or "")
    reasoning = message.get("reasoning") or message.get("reasoning_content")
    return f"<think>{reasoning}</think>\n{content}" if isinstance(reasoning, str) and reasoning.strip() else content


def letter_scores(logprobs: Any, request: Request) -> tuple[dict[str, float], float]:
    """Log-probability by option key, summed over a letter's spellings, and the share the letters hold together.

    Raises:
        GaveUp: the server gave no candidates, or none of them is a letter.
    """
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not content:
        raise GaveUp("the server returned no log-probabilities; read this model by json_choice, or ask a server "
                     "that gives logprobs", 1)
    candidates = {c.get("token", ""): c.get("logprob") for c in [content[0], *(content[0].get("top_logprobs") or [])]}
    shares: dict[str, float] = {}
    for token, logprob in candidates.items():
        key = request.letters.get(str(token).strip(_SPACES))
        if key is not None and isinstance(logprob, int | float) and math.isfinite(logprob):
            shares[key] = shares.get(key, 0.0) + math.exp(logprob)
    if not shares:
        letters = ", ".join(request.letters)
        raise GaveUp(f"none of the letters {letters} is among the {len(candidates)} candidates that the server "
                     "returned; raise options.top_logprobs where the server allows it, or read this model by "
                     "json_choice or option_text", 1)
    return {k: math.log(p) for k, p in shares.items() if p > 0}, min(1.0, math.fsum(shares.values()))


def continuation(data: Mapping[str, Any], begin: int, end: int) -> tuple[float, int]:
    """(summed log-probability, tokens) of the characters [begin, end) of an echoed prompt.

    A token that straddles ``begin`` counts: it holds the option's first characters.
    """
    choices = data.get("choices")
    said = choices[0].get("logprobs") if isinstance(choices, list) and choices else None
    if not isinstance(said, dict) or not said.get("token_logprobs"):
        raise GaveUp("the server echoes no log-probabilities on /completions; read this model by option_letters or "
                     "json_choice", 1)
    tokens, offsets = said.get("tokens") or [], said.get("text_offset") or []
    logs = []
    for token, offset, logprob in zip(tokens, offsets, said["token_logprobs"], strict=False):
        if offset < end and offset + max(1, len(token)) > begin:
            if not isinstance(logprob, int | float):
                raise TransientError("a missing log-probability inside an option's text")
            logs.append(float(logprob))
    if not logs:
        raise TransientError("no token of the option's text in the echo")
    return math.fsum(logs), len(logs)
