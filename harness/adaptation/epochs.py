"""When training stops and which epoch is kept (optical-spectra paper, table 8). Pure functions of the curve so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    """One epoch on the development split: ``accuracy`` 0-1, ``loss`` nats a request."""

    epoch: int
    accuracy: float
    loss: float


@dataclass(frozen=True, slots=True)
class Rule:
    """``last`` trains ``epochs`` epochs and keeps the last; ``best`` trains at most so many and keeps the best.

    Best is the highest development accuracy, a lower loss breaks ties; training stops after ``patience`` epochs in
    a row that were no improvement in this order. The paper's two-epoch rule is ``Rule("last", 2)``, its
    selected-epoch rule ``Rule("best", 9, 2)``.
    """

    keep: str
    epochs: int
    patience: int = 2


def better(a: Point, b: Point) -> bool:
    """Whether ``a`` beats ``b``: more accurate, or as accurate with a lower loss."""
    return (a.accuracy, -a.loss) > (b.accuracy, -b.loss)


def best(curve: Sequence[Point]) -> Point:
    """The best point; the earliest of equals. Raises ValueError on an empty curve."""
    if not curve:
        raise ValueError("no epoch has been finished")
    chosen = curve[0]
    for point in curve[1:]:
        if better(point, chosen):
            chosen = point
    return chosen


def kept(curve: Sequence[Point], rule: Rule) -> Point:
    """The epoch whose weights become the adapter."""
    return curve[-1] if rule.keep == "last" and curve else best(curve)


def finished(curve: Sequence[Point], rule: Rule) -> bool:
    """Whether training stops after the epochs in ``curve``."""
    if len(curve) >= rule.epochs:
        return True
    if rule.keep == "last" or not curve:
        return False
    return len(curve) - 1 - curve.index(best(curve)) >= rule.patience
