"""Arm and pool declarations: ``specs/adaptation/*.yaml``, ``specs/adaptation/*/*.yaml`` and ``.../pools/*.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import Problem, SpecError, near
from ..spec import schema, shown, specs_folder
from ..yamlfile import YamlFile, check_schema, read_yaml
from .epochs import Rule

FOLDER = "adaptation"


@dataclass(frozen=True, slots=True)
class PoolSpec:
    """A training pool as declared; ``tasks`` maps a kind of task to its instances for each polarization."""

    name: str
    version: int
    title: str
    seed: int
    like: str
    polarizations: tuple[str, ...]
    prefix: str
    tasks: Mapping[str, int]
    views: tuple[str, ...]
    disjoint_from: tuple[str, ...]
    may_share: tuple[str, ...] = ()
    min_samples: int | None = None


@dataclass(frozen=True, slots=True)
class Lora:
    """``targets`` must all exist in the base; ``targets_if_present`` are adapted where they do.

    ``last_layers`` adapts so many layers at the end only; None all.
    """

    rank: int
    scale: float
    dropout: float
    targets: tuple[str, ...]
    targets_if_present: tuple[str, ...] = ()
    last_layers: int | None = None


@dataclass(frozen=True, slots=True)
class Arm:
    """A training recipe as declared. ``data`` is the whole document, for the record beside the adapter."""

    name: str
    version: int
    title: str
    base: str
    pools: tuple[str, ...]
    views: tuple[str, ...]
    sample: int | None
    rule: Rule
    seeds: tuple[int, ...]
    lora: Lora
    rate: float
    weight_decay: float
    accumulate: int
    clip: float
    batch: int
    precision: str
    gradient_checkpointing: bool
    file: str
    data: Mapping[str, Any]


def arm_files(root: Path) -> dict[str, Path]:
    """Name of an arm (the file's stem) -> file, in all folders but ``pools``."""
    folder = specs_folder(root) / FOLDER
    files = [p for p in sorted(folder.rglob("*.yaml")) if p.parent.name != "pools"]
    return {p.stem: p for p in files}


def load_arm(name: str, root: Path) -> Arm:
    """The arm of that name, or in that YAML file.

    Raises:
        SpecError: no such arm (with a near match), or every problem of its file.
    """
    if name.endswith((".yaml", ".yml")):
        path = Path(name)
    else:
        known = arm_files(root)
        if name not in known:
            raise SpecError(Problem("train", 0, "", f"{name!r} is not an arm of specs/adaptation{near(name, known)}"))
        path = known[name]
    file = _checked(path, "arm")
    d = file.data
    problems = []
    batch = d.get("batch", min(8, d["optimizer"]["accumulate"]))
    if d["optimizer"]["accumulate"] % batch:
        problems.append(file.problem(("batch",), f"{batch} does not divide 'accumulate', which is "
                                                 f"{d['optimizer']['accumulate']}"))
    if d["name"] != path.stem:
        problems.append(file.problem(("name",), f"{d['name']!r} must be the name of the file, {path.stem!r}"))
    for i, pool in enumerate(d["pools"]):
        pools = pool_files(root)
        if pool not in pools:
            problems.append(file.problem(("pools", i), f"{pool!r} is not a pool{near(pool, pools)}"))
            continue
        for k, view in enumerate(d["views"]):
            declared = load_pool(pool, root).views
            if view not in declared:
                wrong = f"{view!r} is not a view of pool {pool!r}{near(view, declared)}"
                problems.append(file.problem(("views", k), wrong))
    if problems:
        raise SpecError(problems)
    rule = Rule(d["epochs"]["keep"], d["epochs"]["most"], d["epochs"].get("patience", 2))
    added = d["lora"]
    lora = Lora(added["rank"], float(added["scale"]), float(added["dropout"]), tuple(added["targets"]),
                tuple(added.get("targets_if_present", ())), added.get("last_layers"))
    return Arm(d["name"], d["version"], d["title"], d["base"], tuple(d["pools"]), tuple(d["views"]), d.get("sample"),
               rule, tuple(d["seeds"]), lora, float(d["optimizer"]["rate"]),
               float(d["optimizer"].get("weight_decay", 0)), d["optimizer"]["accumulate"],
               float(d["optimizer"]["clip"]), batch, d.get("precision", "fp32"),
               d.get("gradient_checkpointing", False), file.path, d)


def pool_files(root: Path) -> dict[str, Path]:
    folder = specs_folder(root) / FOLDER
    return {p.stem: p for p in sorted(folder.rglob("pools/*.yaml"))}


def load_pool(name: str, root: Path) -> PoolSpec:
    """The pool of that name. Raises SpecError: no such pool, or every problem of its file."""
    known = pool_files(root)
    if name not in known:
        raise SpecError(Problem("pools", 0, "", f"{name!r} is not a pool of specs/adaptation/pools{near(name, known)}"))
    file = _checked(known[name], "pool")
    d = file.data
    if d["name"] != known[name].stem:
        raise SpecError(file.problem(("name",), f"{d['name']!r} must be the name of the file, {known[name].stem!r}"))
    return PoolSpec(d["name"], d["version"], d["title"], d["seed"], d["like"], tuple(d["polarizations"]), d["prefix"],
                    dict(d["tasks"]), tuple(d["views"]), tuple(d["disjoint_from"]), tuple(d.get("may_share", ())),
                    d.get("min_samples"))


def _checked(path: Path, name: str) -> YamlFile:
    file = read_yaml(path, shown(path))
    if not isinstance(file.data, dict):
        raise SpecError(Problem(file.path, 0, "", f"this file is a mapping; see specs/schema/{name}.schema.json"))
    problems = check_schema(file, schema(name))
    if problems:
        raise SpecError(problems)
    return file
