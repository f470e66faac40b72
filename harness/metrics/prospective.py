"""Prospective counterfactual self-knowledge and the sufficiency flag (modality paper, section 3.3, tables 3, 4 and 8).

One cell is one model, task and withheld input. y~_A is the answer of the assessment arm, y^_AB its claim about the
joint answer, s its flag, y_AB the plain joint answer. Predicted change c^ = [y^_AB != y~_A], executed change
c = [y~_A != y_AB]. Only groups whose arms are all usable enter; a shared generation counts once for every row of its
cluster.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..bootstrap import ratio
from ..rows import Floats, Rows
from .arms import Prospective, agreement_by_chance, counts, prospective, singles, summed
from .metric import metric


def _scored(group: Prospective) -> bool:
    return group.joint is not None


def _changed(group: Prospective) -> bool:
    return group.joint is not None and group.joint != group.said


def scored(rows: Rows) -> Rows:
    """Usable single-input assessments whose joint plain arm is usable too."""
    rows = singles(rows)
    return rows.take(counts(rows, _scored) > 0)


def common(rows: Rows) -> Rows:
    """Those for which single and joint arms parsed under both templates (appendix A.3)."""
    rows = singles(rows)
    return rows.take(counts(rows, lambda g: g.common) > 0)


def _percent(rows: Rows, weights: np.ndarray, of: Callable[[Prospective], bool],
             among: Callable[[Prospective], bool]) -> Floats:
    return 100 * ratio(summed(rows, weights, of), summed(rows, weights, among))


@metric("%", ideal=None, rows=scored)
def predicted_change(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """rho_pred = 100 x E[c^], in %: how often it departs from repeating its answer. Right when it equals rho_exec."""
    return _percent(rows, weights, lambda g: _scored(g) and g.predicted, _scored)


@metric("%", ideal=None, rows=scored)
def executed_change(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """rho_exec = 100 x E[c], in %: how often the restored input changes the answer."""
    return _percent(rows, weights, _changed, _scored)


@metric("points", ideal=0, rows=scored)
def calibration_gap(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """Delta = rho_exec - rho_pred, in points. Ideal 0; positive when changes are underestimated. Table 3."""
    n = summed(rows, weights, _scored)
    return 100 * (ratio(summed(rows, weights, _changed), n)
                  - ratio(summed(rows, weights, lambda g: _scored(g) and g.predicted), n))


@metric("%", ideal=None, rows=scored)
def insufficient_share(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """beta = 100 x Pr[s = INSUFFICIENT], in %. Table 4."""
    return _percent(rows, weights, lambda g: _scored(g) and g.insufficient, _scored)


@metric("%", ideal=100, rows=scored)
def insufficiency_precision(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x Pr[c = 1 | s = INSUFFICIENT], in %. Ideal 100; a flag at random gets rho_exec. No data without a flag."""
    return _percent(rows, weights, lambda g: _changed(g) and g.insufficient, lambda g: _scored(g) and g.insufficient)


@metric("%", ideal=100, rows=scored)
def insufficiency_recall(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x Pr[s = INSUFFICIENT | c = 1], in %. Ideal 100; a flag at random gets beta. No data without a change."""
    return _percent(rows, weights, lambda g: _changed(g) and g.insufficient, _changed)


@metric("%", ideal=0, rows=scored)
def silent_failures(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x Pr[c = 1 and s = SUFFICIENT], in % of all items: acts on an incomplete picture, says nothing. Ideal 0."""
    return _percent(rows, weights, lambda g: _changed(g) and not g.insufficient, _scored)


@metric("%", ideal=0, rows=scored)
def flag_contradicts_claim(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x items whose flag says the opposite of its own claim, in %. Ideal 0. Appendix C.2: one construct, twice."""
    return _percent(rows, weights, lambda g: _scored(g) and g.insufficient != g.predicted, _scored)


@metric("%", ideal=100, rows=scored)
def claim_accuracy(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x Pr[y^_AB = y_AB], in %. Ideal 100.

    Read it next to ``claim_chance``, and to what always copying gets: 100 - rho_exec.
    """
    return _percent(rows, weights, lambda g: _scored(g) and g.claim == g.joint, _scored)


@metric("%", ideal=None, rows=scored)
def claim_chance(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """Chance level of ``claim_accuracy``, in %: sum over answers of their shares among claims and joint answers."""
    pairs = [[(g.claim, g.joint) for g in groups if g.joint is not None] for groups in prospective(rows)]
    return agreement_by_chance(rows, weights, pairs)


@metric("%", ideal=None, rows=scored)
def change_chance(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """The executed change of two unrelated answers, in %: 100 - agreement by chance of y~_A and y_AB."""
    pairs = [[(g.said, g.joint) for g in groups if g.joint is not None] for groups in prospective(rows)]
    return 100 - agreement_by_chance(rows, weights, pairs)


@metric("%", ideal=None, rows=common)
def predicted_change_common(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """rho_pred on the common item set, in %."""
    return _percent(rows, weights, lambda g: g.common and g.predicted, lambda g: g.common)


@metric("%", ideal=None, rows=common)
def executed_change_mixed(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """rho_exec on the common item set, in %: y~_A against y_AB, the intended wiring. Table 8."""
    return _percent(rows, weights, lambda g: g.common and g.said != g.joint, lambda g: g.common)


@metric("%", ideal=None, rows=common)
def executed_change_assessment(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """Assessment-matched: y~_A against y~_AB, in %. Table 8."""
    return _percent(rows, weights, lambda g: g.common and g.said != g.joint_assessed, lambda g: g.common)


@metric("%", ideal=None, rows=common)
def executed_change_plain(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """Plain-matched: y_A against y_AB, in %. Table 8."""
    return _percent(rows, weights, lambda g: g.common and g.alone != g.joint, lambda g: g.common)
