"""Differences between arms on shared requests: every metric, paired and clustered by instance; and what flipped.

Both arms of a difference are computed under the same weights of instances, so the difference of their resampled values
is that of a paired cluster bootstrap. What is tested, and judged against a baseline, is whether an arm is nearer to the
ideal or farther from it: the change of the distance |value - ideal|, which is as large as that of the value only where
both values lie on one side. Two-sided p-values compare it, over the standard deviation of its resampled values, with
Student's t(n - 1) over n clusters; Holm's procedure adjusts them over all differences that are tested.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..bootstrap import RESAMPLES, Resamples, finite
from ..errors import DataError
from ..metrics import METRICS
from ..metrics.metric import load
from ..outcome import Estimate, Outcome
from ..probe import RequestKey
from ..report.decisions import FLAT, LEVEL, adjusted, detectable, one_sided
from ..rows import Rows
from .arms import Arm, place

DETAILS = ("accuracy", "abstention_rate")
"""Metrics that are also compared task by task and view by view."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One metric of one arm less that of the reference.

    Attributes:
        where: the slice, e.g. ``gold-main`` or ``gold-main, compare, plot_ev``.
        reference, other: the values on the shared requests.
        change: other - reference, in points for percentages.
        distance: by how much farther from the ideal the arm is, negative where it is nearer; None without an ideal.
        p, adjusted_p: of ``distance``, two-sided; None without an ideal or an interval.
        detectable: the least difference that this n finds with 80 % power.
    """

    metric: str
    where: str
    arm: str
    reference: Estimate
    other: Estimate
    change: Estimate
    distance: float | None = None
    p: float | None = None
    adjusted_p: float | None = None
    detectable: float | None = None

    @property
    def nearer(self) -> bool | None:
        """Whether the arm is nearer to the ideal; None without an ideal or a change."""
        return None if self.distance is None or abs(self.distance) < FLAT else self.distance < 0

    @property
    def significant(self) -> bool:
        return self.adjusted_p is not None and self.adjusted_p <= 2 * LEVEL

    @property
    def worse(self) -> bool:
        return self.significant and self.nearer is False


@dataclass(frozen=True, slots=True)
class Flip:
    """A request that two arms decided differently."""

    where: tuple[str, ...]
    expected: str
    reference: str
    other: str
    arm: str
    kind: str  # broken | repaired | otherwise


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is known of several arms. The first arm is the reference; ``details`` are by task and view."""

    arms: tuple[Arm, ...]
    summary: tuple[Difference, ...]
    details: tuple[Difference, ...]
    flips: tuple[Flip, ...]
    n_requests: int
    n_instances: int
    n_units: int
    seed: int
    resamples: int
    notes: tuple[str, ...] = field(default=())


def compare(
    arms: Sequence[Arm], seed: int = 0, resamples: int = RESAMPLES, metrics: Iterable[str] = METRICS
) -> Comparison:
    """Every metric of every arm against the first, spec by spec.

    Args:
        arms: with shared requests only (see :func:`harness.compare.arms.matched`).
    """
    rows = Rows.of(
        replace(o, model=str(i), key=str(replace(RequestKey.parse(o.key), model=str(i))))
        for i, arm in enumerate(arms)
        for o in arm.outcomes
    )
    draws = Resamples.draw(rows, resamples, seed)
    names = list(metrics)
    summary = [
        d for spec, part in rows.split("spec") for name in names for d in _differences(name, spec, part, arms, draws)
    ]
    details = [
        d
        for spec, part in rows.split("spec")
        for task, cell in part.split("task")
        for view, piece in cell.split("view")
        for name in DETAILS
        for d in _differences(name, f"{spec}, {task}, {view}", piece, arms, draws)
    ]
    reference = rows.where(model="0")
    return Comparison(
        tuple(arms),
        tuple(_adjust(summary)),
        tuple(_adjust(details)),
        tuple(flips(arms)),
        len(reference),
        reference.n_instances,
        reference.n_units,
        seed,
        resamples,
    )


def _differences(name: str, where: str, rows: Rows, arms: Sequence[Arm], draws: Resamples) -> list[Difference]:
    metric = load(name)
    parts = [rows.where(model=str(i)) for i in range(len(arms))]
    try:
        values = [draws.drawn(metric, part) for part in parts]
    except DataError:  # rows that may not be pooled, such as two kinds of probability
        return []
    (first, first_drawn), rest = values[0], values[1:]
    made = []
    for arm, (other, drawn) in zip(arms[1:], rest, strict=True):
        if first.value is None or other.value is None:
            continue
        both, n = finite(drawn - first_drawn), min(first.n_units, other.n_units)
        low, high = np.quantile(both, (LEVEL, 1 - LEVEL)) if len(both) else (0.0, 0.0)
        change = Estimate(
            other.value - first.value,
            (float(low), float(high)) if len(both) else None,
            min(first.n_instances, other.n_instances),
            min(first.n_requests, other.n_requests),
            "points" if metric.unit in ("%", "points") else metric.unit,
            n,
        )
        distance = p = None
        if metric.ideal is not None:
            distance = abs(other.value - metric.ideal) - abs(first.value - metric.ideal)
            drawn_distance = finite(np.abs(drawn - metric.ideal) - np.abs(first_drawn - metric.ideal))
            p = p_value(distance, drawn_distance, n) if len(drawn_distance) else None
        least = detectable(change, float(both.std())) if len(both) else None
        made.append(Difference(name, where, arm.label, first, other, change, distance, p, detectable=least))
    return made


def p_value(change: float, resampled: np.ndarray, n_units: int) -> float:
    """Two-sided, of a difference whose resampled values are (b,): see :func:`harness.report.decisions.one_sided`."""
    return min(1.0, 2 * one_sided(abs(change), float(resampled.std()), n_units))


def _adjust(found: list[Difference]) -> list[Difference]:
    tested = [(i, d.p) for i, d in enumerate(found) if d.p is not None]
    for (i, _), p in zip(tested, adjusted([p for _, p in tested]), strict=True):
        found[i] = replace(found[i], adjusted_p=p)
    return found


def flips(arms: Sequence[Arm]) -> list[Flip]:
    """Requests whose decisions differ from the reference's; an unreadable reply has decided nothing."""
    reference = {place(o): o for o in arms[0].outcomes}
    made = []
    for arm in arms[1:]:
        for o in sorted(arm.outcomes, key=place):
            first = reference.get(place(o))
            if first is None or _said(first) == _said(o):
                continue
            was, now = first.correct is True, o.correct is True
            kind = "broken" if was and not now else "repaired" if now and not was else "otherwise"
            made.append(Flip(tuple(map(str, place(o))), o.expected, _said(first), _said(o), arm.label, kind))
    order = {"broken": 0, "repaired": 1, "otherwise": 2}
    return sorted(made, key=lambda f: (f.arm, order[f.kind], f.where))


def _said(o: Outcome) -> str:
    return str(o.choice) if o.status == "usable" else f"({o.status.replace('_', ' ')})"
