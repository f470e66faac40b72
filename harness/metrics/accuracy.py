"""Accuracy against the canonical answer keys (optical-spectra paper, section 4.2; table 2, figure 2)."""

from __future__ import annotations

import numpy as np

from ..bootstrap import share
from ..rows import Rows
from .metric import metric

CONTROL_VIEWS = ("table_ev_desc",)
"""Views that only some analyses use; they are not among the core ones."""


def core(rows: Rows) -> Rows:
    """Attempted requests of core variants in core views."""
    return rows.take(rows.attempted & rows.among("core", True) & ~rows.among("view", CONTROL_VIEWS))


def usable(rows: Rows) -> Rows:
    return rows.take(rows.usable)


@metric("%", ideal=100)
def accuracy(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x correct / attempted, in %. Ideal 100.

    Truncated, unparsed and failed requests stay in the denominator: losing a row never raises the score.
    """
    return share(rows, weights, rows.correct)


@metric("%", ideal=100, rows=core)
def core_accuracy(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x correct / attempted on core variants and views, in %. Ideal 100. Table 2."""
    return share(rows, weights, rows.correct)


@metric("%", ideal=100, rows=usable)
def accuracy_usable(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x correct / usable, in %. Ideal 100. Only next to the attrition: it rises when hard rows are lost."""
    return share(rows, weights, rows.correct)
