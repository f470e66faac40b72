"""Puts a report into its folder. The same outcomes and run.json give the same bytes."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..outcome import Gate, Outcome
from . import WRITERS
from .document import Document, build
from .run import replace_file


def write_report(folder: Path, outcomes: Iterable[Outcome | Mapping[str, Any]], run: Mapping[str, Any],
                 gates: Sequence[Gate] = (), notes: Sequence[str] = ()) -> Document:
    """Write ``report.md``, ``tables/*.csv`` and whatever else has a writer; tables of an older report go.

    Args:
        run: ``run.json`` (see ``harness.report.run``).
        gates: to be judged; the document holds their verdicts.
        notes: shown at the top, e.g. those of ``harness.report.recorded.load``.

    Raises:
        RunError: the folder cannot be written.
    """
    document = build(outcomes, run, gates, notes)
    files: dict[str, bytes] = {}
    for place in WRITERS.values():
        module, _, function = place.partition(":")
        files.update(getattr(importlib.import_module(f".{module}", __package__), function)(document))
    for path, data in files.items():
        replace_file(folder / path, data)
    for old in (folder / "tables").glob("*.csv"):
        if f"tables/{old.name}" not in files:
            old.unlink()
    return document
