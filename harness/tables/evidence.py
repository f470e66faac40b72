"""Annotated evidence and attribution (modality paper, figure 4 and table 11)."""

from __future__ import annotations

import numpy as np

from ..bootstrap import Resamples
from ..metrics.alignment import included
from ..metrics.arms import joints
from ..outcome import Table
from ..rows import Rows
from .suite import cells, estimates, table

RESAMPLES = 10_000
"""Of the modality paper's appendix A.4, whatever the run uses otherwise."""


def alignment(rows: Rows, resamples: Resamples) -> Table | None:
    metrics = (
        "golden_accuracy_gap",
        "alignment_stated",
        "alignment_executed",
        "alignment_difference",
        "single_set_stated",
        "single_set_executed",
        "golden_given_single_stated",
        "golden_given_single_executed",
    )
    made = []
    for (spec,), part in cells(rows, "spec"):
        if not any(o.facts.get("golden") for o in part.outcomes):
            continue
        own = Rows.of(part.outcomes)  # resampling one suite alone keeps the 10,000 weights small
        draws = Resamples.draw(own, max(RESAMPLES, len(resamples.weights)), resamples.seed, resamples.kind)
        for (model,), cell in cells(own, "model"):
            kept, asked = len(included(cell)), len(joints(cell.take(_annotated(cell))))
            made.append((spec, model, f"{kept}/{asked}", *estimates(cell, draws, metrics)))
    return table(
        "alignment",
        "Attribution against the annotated evidence, %",
        (
            "spec",
            "model",
            "included",
            "golden - other accuracy, points",
            "stated",
            "executed",
            "stated - executed, points",
            "single set, stated",
            "single set, executed",
            "golden | single, stated",
            "golden | single, executed",
        ),
        made,
        "An attribution counts only when it names the one input with the annotated evidence. Items without one do "
        f"not enter. The last two columns condition on different items: a diagnostic. {RESAMPLES:,} resamples or more.",
        "modality paper, figure 4 and table 11",
    )


def _annotated(rows: Rows) -> np.ndarray:
    return rows.derived("evidence: annotated",
                        lambda r: np.array([bool(o.facts.get("golden")) for o in r.outcomes], bool))
