"""What the first screen of a report says: three numbers for each suite and model, and what failed most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..metrics.arms import JOINT, suite
from ..metrics.metric import load
from ..outcome import Estimate
from ..rows import Rows
from ..tables.grid import core_views, lines
from .document import Document

SPECTRA = ("core_accuracy", "agreement_all", "consistent_wrong")
SCOPE = ("scope_full", "d_scope", "delta_out")
MODALITY = ("calibration_gap", "insufficiency_recall", "attribution_agreement")
PLAIN = ("accuracy", "abstention_rate", "attrition")
LABELS = {
    "core_accuracy": "right on core variants",
    "agreement_all": "decided alike in all views",
    "consistent_wrong": "alike, but wrong",
    "scope_full": "right on complete evidence",
    "d_scope": "D_scope: abstention by missing evidence",
    "delta_out": "Delta_out: effect of a harmless cut",
    "calibration_gap": "executed less predicted change",
    "insufficiency_recall": "changes that were flagged",
    "attribution_agreement": "stated and executed attribution agree",
    "accuracy": "right",
    "abstention_rate": "abstained",
    "attrition": "lost to attrition",
}
FEWEST = 8
"""Requests of a cell below which it is not named among the worst."""


@dataclass(frozen=True, slots=True)
class Number:
    """One of the numbers that matter: its metric, what it says, its ideal value and its estimate."""

    metric: str
    label: str
    ideal: float | None
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Failure:
    """A cell of many wrong answers: requests of one model that share these columns."""

    where: Mapping[str, str]
    wrong: int
    unreadable: int
    requests: int

    @property
    def share(self) -> float:
        return 100 * (self.wrong + self.unreadable) / self.requests


def numbers(document: Document) -> list[tuple[str, list[tuple[str, list[Number]]]]]:
    """(spec, [(model, three numbers)]) in the order of the specs."""
    return [
        (spec, [(model, _numbers(cell, chosen, document)) for model, cell in part.split("model")])
        for spec, part in document.rows.split("spec")
        for chosen in [triple(part)]
    ]


def triple(rows: Rows) -> tuple[str, ...]:
    """The three metrics that say most of a suite."""
    if rows.where(cut="outside").n_instances and set(rows.distinct("task")) == {"scope"}:
        return SCOPE
    if len(suite(rows)):
        return MODALITY
    return SPECTRA if len(core_views(rows)) > 1 else PLAIN


def _numbers(rows: Rows, chosen: tuple[str, ...], document: Document) -> list[Number]:
    made = []
    for name in chosen:
        metric = load(name)
        made.append(Number(name, LABELS[name], metric.ideal, document.resamples.estimate(metric, rows)))
    return made


def _withheld(rows: Rows) -> np.ndarray:
    """(n,) bool: requests of the modality suites that show one input of two."""
    return np.array([o.facts.get("arm", JOINT) != JOINT for o in rows.outcomes], bool)


def failures(document: Document, most: int = 6) -> list[Failure]:
    """The cells with the largest share of requests without the right answer, one a task, worst first.

    Requests from which an input was withheld are left out: they cannot all be right.
    """
    found = []
    rows = document.rows.take(document.rows.attempted & ~_withheld(document.rows))
    for (model, spec, task, view, wording), cell in lines(rows, ("model", "spec", "task", "view", "wording")):
        unreadable = int((~cell.usable).sum())
        wrong = len(cell) - unreadable - int(cell.correct.sum())
        if len(cell) >= min(FEWEST, len(document.rows)) and wrong + unreadable:
            where = {"spec": spec, "task": task, "view": view, "model": model}
            if len(rows.where(where).distinct("wording")) > 1:
                where["wording"] = wording
            found.append(Failure(where, wrong, unreadable, len(cell)))
    found.sort(key=lambda f: (-f.share, -f.requests, sorted(f.where.items())))
    taken: list[Failure] = []
    seen: set[tuple[Any, ...]] = set()
    for failure in found:
        name = (failure.where["model"], failure.where["spec"], failure.where["task"])
        if name not in seen:
            seen.add(name)
            taken.append(failure)
    return taken[:most]
