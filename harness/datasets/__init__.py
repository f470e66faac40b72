"""Where evidence comes from. ``load`` turns the ``dataset:`` block of a spec into a SpectraSet.

A dataset is one function ``(declaration, base) -> SpectraSet`` and one line in ``SPECTRA``; its module is imported only
when a spec names it. A user's own table needs no line: ``dataset: {table: my.csv, ...}``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from ..settings import DATASETS, dataset_path
from ..spectrum import SpectraSet

SPECTRA = {
    "moclip": "harness.datasets.moclip:load",
    "metasurface": "harness.datasets.moclip:metasurface",
    "gold": "harness.datasets.gold:load",
    "gold-simulated": "harness.datasets.gold:simulated",
    "filters": "harness.datasets.filters:load",
}
"""Name in a spec -> "module:function". ``moclip`` and ``gold`` read the user's own file when its path is set."""


def load(declaration: Mapping[str, Any], base: Path) -> SpectraSet:
    """The spectra of a ``dataset:`` block that fits its schema; paths in it are relative to ``base``.

    One process reads a file once; a file that has changed since is read again.

    Raises:
        DataError: data that cannot be used.
        SpecError: the path of the user's own file is set wrongly.
    """
    name, table = declaration.get("name"), declaration.get("table")
    own = dataset_path(name) if name in DATASETS else base / Path(table).expanduser() if table is not None else None
    stamp = own.stat() if own is not None and own.exists() else None
    return _load(json.dumps(dict(declaration), sort_keys=True), base, own, stamp and (stamp.st_mtime_ns, stamp.st_size))


@lru_cache(maxsize=16)
def _load(declaration: str, base: Path, own: Path | None, stamp: tuple[int, int] | None) -> SpectraSet:
    """``own`` and ``stamp`` only make the cache forget a replaced file."""
    declared = json.loads(declaration)
    target = SPECTRA[declared["name"]] if "name" in declared else "harness.datasets.spectra_table:load"
    module, _, function = target.partition(":")
    return getattr(import_module(module), function)(declared, base)
