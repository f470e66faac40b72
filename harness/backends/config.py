"""Model configurations: what ``specs/models.yaml`` declares, and what ``--model`` may say instead of a name there."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from ..errors import BackendError, near
from . import BACKENDS

OPENROUTER_URL = "https://openrouter.ai/api/v1"

READOUTS = {
    "oracle": ("decision", "json_choice", "option_letters", "option_text", "labelled_lines"),
    "scripted": ("decision", "json_choice", "option_letters", "option_text", "labelled_lines"),
    "smollm2": ("option_letters", "option_text", "json_choice", "labelled_lines"),
    "pico": ("option_letters",),
    "hf": ("option_letters",),
    "chat": ("json_choice", "option_letters", "option_text", "labelled_lines"),
    "openrouter": ("json_choice", "option_letters", "labelled_lines"),
    "vllm": ("json_choice", "option_letters", "option_text", "labelled_lines", "decision"),
    "decisions": ("decision",),
}
"""What each backend can be read by, the preferred one first."""

NOT_IN_IDENTITY = frozenset({"threads", "adapter_folder", "adapter_rank", "device", "latency_s", "backoff_s",
    "key_optional", "env", "python", "start_timeout_s", "fast_args"})
"""Options that change how fast a reply comes, never which reply."""


@dataclass(frozen=True)
class ModelConfig:
    """One model as it is asked.

    Attributes:
        name: what reports call it, and the last part of every request key.
        backend: a name in :data:`harness.backends.BACKENDS`.
        readout: how its decision is elicited and read; "" takes the spec's.
        model: the identifier that the server knows.
        base_url: where the service is; a path ends before ``/chat/completions`` or ``/v1/systemone``.
        key_env: the environment variable that holds the key; "" when none is needed.
        modalities: of ``text`` and ``image``; image views are not collected for a text-only model.
        in_flight: how many requests may be under way at once, in all processes of a run together.
        requests_per_minute, tokens_per_minute: limits to stay under; 0 is no limit.
        timeout_s: limit for one try of one request.
        max_tries: how often one request is sent before its failure becomes its outcome; 1 never retries.
        permute: ``reverse`` averages the readings of the forward and the reversed option order.
        sampling: sent as it is: temperature, max_tokens, seed, ...
        options: what only this backend knows; see its module.
        price_in, price_out: US dollars per million tokens, for services that report no cost.
        revision, adapter: which weights; part of the identity of a reply.
    """

    name: str
    backend: str
    readout: str = ""
    model: str = ""
    base_url: str = ""
    key_env: str = ""
    modalities: tuple[str, ...] = ("text", "image")
    in_flight: int = 8
    requests_per_minute: float = 0.0
    tokens_per_minute: float = 0.0
    timeout_s: float = 120.0
    max_tries: int = 6
    permute: str = ""
    sampling: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    price_in: float = 0.0
    price_out: float = 0.0
    revision: str = ""
    adapter: str = ""
    description: str = ""

    @property
    def sees_images(self) -> bool:
        return "image" in self.modalities

    def readout_for(self, spec_readout: str) -> str:
        """How this model answers a suite that asks for ``spec_readout``.

        Labelled lines are part of a suite's prompt and are never replaced; the other readouts elicit the same decision
        in several ways, so the model's own comes first, then the suite's, then what the backend prefers.

        Raises:
            BackendError: the suite demands labelled lines and this backend cannot write text.
        """
        can = READOUTS[self.backend]
        if spec_readout == "labelled_lines":
            if spec_readout not in can:
                raise BackendError(f"model {self.name}: its backend {self.backend!r} answers with one of the options; "
                                   "a suite of labelled lines needs a model that writes text")
            return spec_readout
        if self.readout:
            return self.readout
        return spec_readout if spec_readout in can else can[0]

    def identity(self) -> dict[str, Any]:
        """Everything here that determines the reply, and nothing else: half of the key of the store."""
        facts: dict[str, Any] = {
            "backend": self.backend,
            "model": self.model,
            "revision": self.revision,
            "adapter": self.adapter,
            "sampling": dict(self.sampling),
            "options": {k: v for k, v in self.options.items() if k not in NOT_IN_IDENTITY},
        }
        if self.backend != "vllm":  # a started server has another port every time; the weights are what counts
            facts["base_url"] = self.base_url
        return facts

    @cached_property
    def identity_sha256(self) -> str:
        text = json.dumps(self.identity(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


_SETTINGS = tuple(f.name for f in fields(ModelConfig) if f.name != "name")


def models(mapping: Mapping[str, Any]) -> dict[str, ModelConfig]:
    """Entries by name as configurations: of a ``models.yaml`` that fits its schema, or of the ``run.json`` of a run.

    Raises:
        BackendError: a readout that the model's backend does not have; of a run, a backend or setting of another version.
    """
    return {name: _config(name, entry) for name, entry in mapping.get("models", mapping).items()}


def _config(name: str, entry: Mapping[str, Any]) -> ModelConfig:
    backend, readout = entry.get("backend", ""), entry.get("readout", "")
    if backend not in BACKENDS:  # this and the next only of a run: what it recorded has passed no schema
        raise BackendError(f"models.{name}.backend: {backend!r} is not a backend{near(backend, BACKENDS)}")
    if unknown := [key for key in entry if key not in _SETTINGS]:
        raise BackendError(f"models.{name}.{unknown[0]}: unknown setting{near(unknown[0], _SETTINGS)}")
    if readout and readout not in READOUTS[backend]:
        raise BackendError(f"models.yaml: models.{name}.readout: backend {backend!r} has no readout {readout!r}"
                           f"{near(readout, READOUTS[backend])}")
    return ModelConfig(**{**entry, "name": name, "modalities": tuple(entry.get("modalities", ("text", "image")))})


_AD_HOC = {
    "chat": "chat:NAME@http://127.0.0.1:8000/v1",
    "systemone": "systemone:NAME@http://127.0.0.1:8000",
    "openrouter": "openrouter:vendor/model",
}


def resolve(name: str, configs: Mapping[str, ModelConfig]) -> ModelConfig:
    """The configuration that ``--model NAME`` means: declared, or ``chat:``, ``systemone:``, ``openrouter:``.

    Raises:
        BackendError: no such name; says the nearest one, or how the form should look.
    """
    if name in configs:
        return configs[name]
    kind, colon, rest = name.partition(":")
    if not colon or kind not in _AD_HOC:
        forms = ", ".join(_AD_HOC.values())
        raise BackendError(f"model {name!r} is not declared in specs/models.yaml{near(name, configs)}; or {forms}")
    if kind == "openrouter":
        if not re.fullmatch(r"[^/\s]+/\S+", rest):
            raise BackendError(f"model {name!r}: the form is {_AD_HOC[kind]}")
        return ModelConfig(name, "openrouter", model=rest, base_url=OPENROUTER_URL, key_env="OPENROUTER_API_KEY")
    match = re.fullmatch(r"(?P<model>\S+?)@(?P<url>https?://\S+)", rest)
    if not match:
        raise BackendError(f"model {name!r}: the form is {_AD_HOC[kind]}")
    url = match["url"].rstrip("/")
    if "@" in url.partition("://")[2].partition("/")[0]:
        raise BackendError("a --model address holds a user name or password; put the key into ISOPROBE_API_KEY")
    if kind == "chat":
        return ModelConfig(name, "chat", model=match["model"], base_url=url, key_env="ISOPROBE_API_KEY",
                           options={"key_optional": True})
    return ModelConfig(name, "decisions", readout="decision", model=match["model"], base_url=url,
                       key_env="ISOPROBE_API_KEY", options={"shape": "systemone", "key_optional": True})
