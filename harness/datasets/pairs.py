"""Paired sets by name: the published ones from the user's own files, else their embedded stand-ins.

``{name: parity}`` and the like are embedded. ``{name: isobench, subset: ...}``, ``{name: mmimdb}`` and
``{name: goldenview}`` read ``path`` (relative to the spec), or what the user's settings name, or fall back on the
stand-in. ``{jsonl: my.jsonl}`` is a user's own file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import DataError, near
from ..settings import dataset_path
from .paired import PairedSet

EMBEDDED = {"parity": "parity", "maxflow": "maxflow", "panels": "panels", "scenes": "scenes", "films": "films"}
PUBLISHED = {"isobench": "isobench", "mmimdb": "mmimdb", "goldenview": "goldenview"}
STAND_INS = {"math_parity": "parity", "graph_maxflow": "maxflow", "mmimdb": "films", "goldenview": "scenes"}


def load(declared: Mapping[str, Any], base: Path, seed: int, inputs: Mapping[str, str],
         answer: Mapping[str, Any]) -> PairedSet:
    """The declared set.

    Args:
        declared: the spec's ``dataset``.
        base: folder of the spec, which relative paths start from.
        inputs, answer: what a user's own file holds (see :mod:`harness.datasets.pairs_jsonl`).

    Raises:
        DataError: unknown set, missing or bad files.
    """
    options = {k: v for k, v in declared.items() if k not in ("name", "path", "jsonl")}
    if "jsonl" in declared:
        own = _module("pairs_jsonl").load(base / declared["jsonl"], inputs=inputs, answer=answer, **options)
        return replace(own, source=str(declared["jsonl"]))
    name = declared["name"]
    if name in EMBEDDED:
        return _generated(name, {"seed": seed, **options})
    if name not in PUBLISHED:
        raise DataError(f"dataset: {name!r} is not a paired set{near(name, (*EMBEDDED, *PUBLISHED))}")
    path = base / declared["path"] if "path" in declared else dataset_path(name)
    if path is None:
        few = {k: v for k, v in options.items() if k == "n"}
        return _generated(STAND_INS[options.get("subset", name)], {"seed": seed, **few})
    published = _module(PUBLISHED[name]).load(path, **options)
    return replace(published, kind="published", licence="see its publication", source=path.name)


def _generated(name: str, options: Mapping[str, Any]) -> PairedSet:
    made = _module(EMBEDDED[name]).load(**options)
    return replace(
        made, kind="simulated", licence="Apache-2.0", source=f"this package, harness/datasets/{EMBEDDED[name]}.py"
    )


def _module(name: str) -> Any:
    return import_module(f"{__package__}.{name}")
