"""Everything a run's folder holds for its readers: report.md, tables, figures, report.html, junit.xml.

What it makes depends on the outcomes, run.json, the gates and the kept evidence alone; the same make the same bytes.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..outcome import Outcome
from . import WRITERS, evidence, junit
from .decisions import NO_PROFILE, Profile
from .document import Document, build
from .figures import draw
from .run import replace_file

PAGE = "report.html"


def publish(
    folder: Path,
    outcomes: Iterable[Outcome | Mapping[str, Any]],
    run: Mapping[str, Any],
    profile: Profile = NO_PROFILE,
    notes: Sequence[str] = (),
    evidence_of: Sequence[Path] = (),
    pictures: bool = True,
) -> Document:
    """Write the report of a run into its folder; tables and figures of an older report go.

    Args:
        run: ``run.json`` (see ``harness.report.run``).
        profile: the gates to be judged; the document holds their verdicts.
        notes: shown at the top, e.g. those of ``harness.report.recorded.load``.
        pictures: draw the figures, which takes longer than all the rest.
        evidence_of: folders whose kept requests the page shows, besides its own (a merged report names its runs).

    Raises:
        RunError: the folder cannot be written.
    """
    from .html import page  # jinja2 is not needed to read a run

    document = build(outcomes, run, profile, notes)
    files: dict[str, bytes] = {}
    for place in WRITERS.values():
        module, _, function = place.partition(":")
        files.update(getattr(importlib.import_module(f".{module}", __package__), function)(document))
    figures = draw.write(document) if pictures else {}
    files |= figures | junit.write(document)
    files[PAGE] = page(document, evidence.read(folder, *evidence_of), figures)
    for path, data in files.items():
        replace_file(folder / path, data)
    for pattern in ("tables/*.csv", "figures/*.png", "figures/*.svg", "junit.xml"):
        for old in folder.glob(pattern):
            if str(old.relative_to(folder).as_posix()) not in files:
                old.unlink()
    return document
