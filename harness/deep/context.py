"""Prompts against the context of the declared models."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from .. import prompts
from ..backends.config import ModelConfig
from ..errors import BackendError
from ..probe import Request
from ..spec import Spec


@dataclass(slots=True)
class Longest:
    """The longest prompt that one model would be sent. ``exact`` when counted by its own tokenizer."""

    model: str
    context: int
    exact: bool
    tokens: int = 0
    key: str = ""
    over: int = 0

    @property
    def too_long(self) -> bool:
        return self.over > 0


class Ruler:
    """Measures every request of one spec for every model that declares a context and can be asked it."""

    def __init__(self, spec: Spec, configs: Iterable[ModelConfig]):
        self.longest: list[Longest] = []
        self.silent: list[str] = []
        self._plans: list[tuple[Longest, ModelConfig, str, Callable[[Request], int]]] = []
        for config in configs:
            try:
                readout = config.readout_for(spec.readout)
            except BackendError:
                continue  # it cannot be asked this suite
            context, count = limit(config)
            if not context:
                if config.backend not in ("oracle", "scripted"):  # programs, which read any length
                    self.silent.append(config.name)
                continue
            row = Longest(config.name, context, count is not estimate)
            self.longest.append(row)
            self._plans.append((row, config, readout, count))

    def see(self, request: Request) -> None:
        worded: dict[str, Request] = {}
        for row, config, readout, count in self._plans:
            if request.images and not config.sees_images:
                continue
            if readout not in worded:
                worded[readout] = _worded(request, readout)
            tokens = count(worded[readout])
            row.over += tokens > row.context
            if tokens > row.tokens:
                row.tokens, row.key = tokens, str(request.key)


def _worded(request: Request, readout: str) -> Request:
    """As this model is asked; labelled lines are the suite's own words."""
    if readout in (request.readout, "labelled_lines"):
        return request
    asked = replace(request, readout=readout)
    return replace(asked, prompt=prompts.compose(asked))


def limit(config: ModelConfig) -> tuple[int, Callable[[Request], int]]:
    """Context in tokens, 0 where none is declared, and how tokens are counted."""
    if config.backend == "pico":
        from ..backends import pico
        from ..backends.pico_tokens import Tokens

        folder = Path(config.options.get("folder", pico.FOLDER))
        try:
            context = json.loads((folder / "config.json").read_text("utf-8"))["max_position_embeddings"]
            tokens = Tokens(folder / "tokenizer.json")
        except (OSError, ValueError, KeyError):
            return 0, estimate
        return int(context), lambda request: len(tokens.ids(pico.chat(request)))
    if config.backend == "smollm2":
        return int(config.options.get("context", 8192)), estimate
    words = [str(w) for w in config.options.get("serve_args", ())]
    for at, word in enumerate(words):
        value = word.partition("=")[2] or (words[at + 1] if at + 1 < len(words) else "")
        if word.partition("=")[0] == "--max-model-len" and value.isdigit():
            return int(value), estimate
    return int(config.options.get("context", 0)), estimate


def estimate(request: Request) -> int:
    return round(prompts.input_tokens(request))
