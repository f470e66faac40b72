"""What became of the requests, cell by cell; the statuses partition the attempted rows."""

from __future__ import annotations

from typing import Any

from ..bootstrap import Resamples
from ..metrics.metric import load
from ..outcome import LOST, STATUSES, Table
from ..rows import Rows
from .grid import lines

_BY = ("spec", "template", "model", "task", "view")


def attrition(rows: Rows, resamples: Resamples) -> Table | None:
    made: list[tuple[Any, ...]] = []
    for (spec, template, model), line in lines(rows, _BY[:3]):
        made.append(_line((spec, template, model, "all", "all"), line, resamples))
        made += [
            _line((spec, template, model, task, view), cell, resamples)
            for (task, view), cell in lines(line, _BY[3:]) if not cell.usable.all()
        ]
    if not made:
        return None
    return Table(
        "attrition", "What became of the requests",
        (*_BY, *STATUSES, LOST, "attrition, %", "instances", "requests"), tuple(made),
        note="Counts of requests by status, in the order of precedence; the first five partition the attempted "
             "requests, of which attrition is the share without a usable reply. Lost: no reply was recorded; no "
             "metric counts these. Cells that are not listed are usable throughout.",
        source="modality paper, appendix D",
    )


def _line(names: tuple[str, ...], rows: Rows, resamples: Resamples) -> tuple[Any, ...]:
    counts = [int(rows.among("status", status).sum()) for status in (*STATUSES, LOST)]
    return (*names, *counts, resamples.estimate(load("attrition"), rows), rows.n_instances, len(rows))
