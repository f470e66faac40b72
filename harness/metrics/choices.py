"""What a model tends to choose: the first evidence, 'undetermined', or the answer of a known shortcut.

Shares of what was chosen are over readable choices (usable rows); rates of what should have been done, such as
abstaining, are over attempted rows.
"""

from __future__ import annotations

import numpy as np

from ..bootstrap import share
from ..rows import Rows
from .accuracy import core
from .metric import attempted, metric


def comparisons(rows: Rows) -> Rows:
    """Usable core rows whose evidence has a first; by design the first is right in half of them."""
    rows = core(rows)
    return rows.take(rows.usable & ~rows.among("first", ""))


def middle_gaps(rows: Rows) -> Rows:
    return attempted(rows).where(cut="inside", deletion="middle")


def inside_cuts(rows: Rows) -> Rows:
    """Usable rows after an inside cut that leaves a visible extremum to be taken for the true one."""
    rows = rows.take(rows.usable).where(cut="inside")
    return rows.take(~rows.among("decoy", ""))


def specification_errors(rows: Rows) -> Rows:
    """Usable wrong core rows of specification tasks."""
    rows = core(rows).where(task="specification")
    return rows.take(rows.usable & ~rows.correct & ~rows.among("decoy", ""))


@metric("%", ideal=50, rows=comparisons)
def position_preference(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x core comparisons in which the first evidence was chosen / those with a readable choice, in %. Ideal 50."""
    return share(rows, weights, rows.same("choice", "first"))


@metric("%", ideal=None)
def abstention_rate(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x 'undetermined' / attempted, in %. The ideal is the share of unanswerable requests among the rows."""
    return share(rows, weights, rows.abstained)


@metric("%", ideal=100, rows=middle_gaps)
def middle_gap_abstention(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x 'undetermined' / requests whose true extremum lies in a removed middle segment, in %. Ideal 100."""
    return share(rows, weights, rows.abstained)


@metric("%", ideal=0, rows=inside_cuts)
def visible_extremum_share(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x choices of the band with the visible extremum / readable choices after an inside cut, in %. Ideal 0."""
    return share(rows, weights, rows.same("choice", "decoy"))


@metric("%", ideal=None, rows=specification_errors)
def specification_decoy_share(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x choices of the deep candidate outside the window / wrong choices in specification tasks, in %.

    No ideal: without errors there is no data. 50 % if the two wrong candidates were equally tempting.
    """
    return share(rows, weights, rows.same("choice", "decoy"))
