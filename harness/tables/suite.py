"""What the tables of the modality suites share: cells of one model, suite and supplied input, and what each dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Any

from .. import bootstrap
from ..bootstrap import Resamples
from ..metrics.arms import multiplicity, suite
from ..metrics.metric import Metric, load
from ..outcome import Estimate, Table
from ..rows import Rows
from .grid import lines

CHANCE = "Chance is the agreement of two independent draws from the observed answers; a rate is read against it."
SCORED = (
    "Scored: items whose arms were all usable; dropped: the other attempted ones. A film's shared generation counts "
    "once for each of its rows."
)


def cells(rows: Rows, *by: str) -> list[tuple[tuple[Any, ...], Rows]]:
    """Lines of the attempted rows of the modality suites."""
    return lines(suite(rows), by)


def estimates(rows: Rows, resamples: Resamples, metrics: Iterable[str | Metric]) -> list[Estimate]:
    return [resamples.estimate(load(m) if isinstance(m, str) else m, rows) for m in metrics]


def point(rows: Rows, metric: str) -> float | None:
    """The value alone, for chance levels: a resampled plug-in estimate of them is biased, so it gets no interval."""
    found = load(metric)
    return bootstrap.point(found, found.select(rows))


def scored(attempted: Rows, kept: Callable[[Rows], float]) -> tuple[int, int]:
    """Items that were scored, and items that were attempted and dropped."""
    asked = float(multiplicity(attempted).sum()) if len(attempted) else 0.0
    entered = kept(attempted) if len(attempted) else 0.0
    return int(entered), int(asked - entered)


def spread(values: Sequence[float | None]) -> tuple[float | None, float | None, float | None]:
    """Median, least and largest of the values there are."""
    there = [v for v in values if v is not None]
    return (median(there), min(there), max(there)) if there else (None, None, None)


def table(
    name: str, title: str, columns: Sequence[str], rows: list[tuple[Any, ...]], note: str, source: str
) -> Table | None:
    """The table, or None when no line holds a value."""
    filled = [
        row
        for row in rows
        if any(isinstance(c, Estimate) and c.value is not None for c in row)
        or (not any(isinstance(c, Estimate) for c in row) and any(isinstance(c, int | float) for c in row))
    ]
    return Table(name, title, tuple(columns), tuple(filled), note, source) if filled else None
