"""Finished adapters as models: ``--model BASE --adapter ARM/SEED`` is the model ``BASE+ARM/SEED``.

An adapter is part of the identity of a reply by the hash of its weights, so one that was trained again never gets the
replies of its predecessor.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path

from ..backends.config import ModelConfig
from ..backends.weights import read_header
from ..errors import AdapterError, near
from ..tables.arms import JOIN
from .base import find as find_base
from .checkpoint import CONFIG, WEIGHTS

ADAPTERS = Path(".isoprobe") / "adapters"
"""Where adapters are kept, relative to the working folder: ARM/SEED below it."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """``sha256`` of the weights; ``base`` and ``fingerprint`` of the model that they were trained on."""

    name: str
    folder: Path
    base: str
    fingerprint: str
    rank: int
    sha256: str


def known(root: Path) -> list[str]:
    """Names of the finished adapters below :data:`ADAPTERS`, sorted."""
    return sorted(p.parent.relative_to(root / ADAPTERS).as_posix() for p in (root / ADAPTERS).glob(f"*/*/{WEIGHTS}"))


def load(name: str, root: Path) -> Adapter:
    """The adapter ARM/SEED, or the one in that folder.

    Raises:
        AdapterError: none there, not finished, or cut short.
    """
    folder = root / ADAPTERS / name
    if not folder.is_dir():
        folder = Path(name)
    if not (folder / "run.json").is_file():
        arm, _, seed = name.partition("/")
        raise AdapterError(f"no adapter {name!r} below {ADAPTERS}{near(name, known(root))}; "
                           f"make it with: isoprobe train {arm}{f' --seed {seed}' if seed else ''}")
    run = json.loads((folder / "run.json").read_text("utf-8"))
    if not (folder / WEIGHTS).is_file():
        raise AdapterError(f"{folder}: its training is not finished; go on with: "
                           f"isoprobe train {run['arm']['name']} --seed {run['seed']}")
    read_header(folder / WEIGHTS)
    config = json.loads((folder / CONFIG).read_text("utf-8"))
    sha256 = hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()
    return Adapter(f"{run['arm']['name']}/{run['seed']}", folder.resolve(), run["base"], run["fingerprint"],
                   config["r"], sha256)


def adapted(config: ModelConfig, name: str, root: Path) -> ModelConfig:
    """The model that ``config`` becomes with that adapter.

    Raises:
        AdapterError: see :func:`load`; or the adapter was trained on another base.
    """
    adapter = load(name, root)
    base = find_base(config.name, root)  # the same checkpoint may stand under two names, in process and served
    if base.fingerprint != adapter.fingerprint and adapter.base != config.name:
        raise AdapterError(f"adapter {name!r} was trained on {adapter.base!r}, not on {config.name!r}; "
                           f"use --model {adapter.base} --adapter {name}")
    if base.fingerprint != adapter.fingerprint:
        raise AdapterError(f"adapter {name!r} was trained on another version of {config.name!r} (configuration "
                           f"{adapter.fingerprint}, now {base.fingerprint}); train it again")
    options = {"adapter_rank": adapter.rank, **config.options, "adapter_folder": str(adapter.folder)}
    changed = {"name": f"{config.name}{JOIN}{adapter.name}", "adapter": f"{adapter.name}@{adapter.sha256[:16]}"}
    if config.backend == "smollm2":  # llama.cpp runs a quantized file; the adapter fits the whole weights
        options = {k: v for k, v in options.items() if k.startswith("adapter_")}
        return replace(config, backend="hf", model=base.checkpoint, readout="option_letters", options=options,
                       **changed)
    return replace(config, options=options, **changed)


def expand(chosen: dict[str, ModelConfig], adapters: list[str], root: Path) -> dict[str, ModelConfig]:
    """The models of a run: as chosen without adapters; with them, each base with each adapter that was trained on it.

    ``none`` among the adapters keeps the bases themselves too.

    Raises:
        AdapterError: see :func:`adapted`; or an adapter that fits none of the models.
    """
    if not adapters:
        return chosen
    names = [a for a in adapters if a != "none"]
    chosen = {name: _served(config, names, root) for name, config in chosen.items()}
    out = dict(chosen) if "none" in adapters else {}
    for config in chosen.values():
        for name in names:
            if len(chosen) == 1 or _fits(config, name, root):
                made = adapted(config, name, root)
                out[made.name] = made
    for name in names:
        if not any(_fits(config, name, root) for config in chosen.values()):
            base = load(name, root).base
            raise AdapterError(f"adapter {name!r} was trained on {base!r}, which is not among the models; "
                               f"add --model {base}")
    return out


def _fits(config: ModelConfig, name: str, root: Path) -> bool:
    """Whether the adapter was trained on the checkpoint that ``config`` asks."""
    try:
        adapted(config, name, root)
    except AdapterError:
        return False
    return True


def _served(config: ModelConfig, adapters: list[str], root: Path) -> ModelConfig:
    """A base whose server has room for these adapters; they are loaded while it runs, and the base needs no other."""
    if config.backend != "vllm":
        return config
    rank = max((load(a, root).rank for a in adapters), default=0)
    env = {**config.options.get("env", {}), "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1"}
    return replace(config, options={**config.options, "adapter_rank": rank, "env": env})
