"""Attribution graded against annotated evidence (modality paper, section 3.2, figure 4, table 11).

g is the input that holds the annotated evidence (``facts["golden"]``); items without an annotation do not enter.
"""

from __future__ import annotations

import numpy as np

from ..bootstrap import ratio, share, total
from ..rows import Bools, Ints, Rows
from . import attribution
from .arms import PLAIN, Arms
from .metric import metric


def _golden(rows: Rows) -> Ints:
    """(n,) int: the code of the attribution {g}, 0 without an annotation."""
    def code(inputs: list[str], golden: str) -> int:
        return 1 << inputs.index(golden) if golden in inputs else 0
    return rows.derived("alignment: golden", lambda r: np.array(
        [code(list(o.facts.get("inputs", ())), o.facts.get("golden", "")) for o in r.outcomes], int))


def included(rows: Rows) -> Rows:
    """Annotated items for which both attributions can be constructed."""
    rows = attribution.scored(rows)
    return rows.take(_golden(rows) > 0)


def annotated_pairs(rows: Rows) -> Rows:
    """Attempted plain rows that hold the annotated input, where the other input was attempted too."""
    def make(r: Rows) -> np.ndarray:
        arms = Arms(r.outcomes)
        return np.array([_other(arms, o) is not None for o in r.outcomes], bool)
    return rows.take(rows.attempted & rows.derived("alignment: pairs", make))


def _other(arms: Arms, o: object) -> object | None:
    """The plain row that holds the other input, for a plain row that holds the annotated one."""
    inputs, golden = o.facts.get("inputs", ()), o.facts.get("golden", "")  # type: ignore[attr-defined]
    if o.template != PLAIN or golden not in inputs or o.facts.get("arm") != golden:  # type: ignore[attr-defined]
        return None
    other = next(name for name in inputs if name != golden)
    return arms.find(o, o.instance, PLAIN, other)  # type: ignore[attr-defined, arg-type]


@metric("points", ideal=None, rows=annotated_pairs)
def golden_accuracy_gap(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x E[Acc_g - Acc_other], in points, paired, plain arms, over attempted rows. Figure 4, left.

    Above 0 when the annotation has behavioural force: without that the alignment says nothing.
    """
    def make(r: Rows) -> np.ndarray:
        arms = Arms(r.outcomes)
        return np.array([bool(getattr(_other(arms, o), "correct", False)) for o in r.outcomes], float)

    return 100 * ratio(
        total(rows, weights, rows.correct - rows.derived("alignment: other", make)), total(rows, weights)
    )


def _is(rows: Rows, side: str) -> Bools:
    same: Bools = attribution.codes(rows, side) == _golden(rows)
    return same


def _single(rows: Rows, side: str) -> np.ndarray:
    return np.isin(attribution.codes(rows, side), (1, 2))


@metric("%", ideal=100, rows=included)
def alignment_stated(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x Pr[stated attribution = {g}], in %. Table 11."""
    return share(rows, weights, _is(rows, "stated"))


@metric("%", ideal=None, rows=included)
def alignment_executed(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x Pr[executed attribution = {g}], in %. Table 11."""
    return share(rows, weights, _is(rows, "executed"))


@metric("points", ideal=None, rows=included)
def alignment_difference(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """Stated minus executed alignment, in points, paired. Figure 4, right; table 11."""
    return share(rows, weights, _is(rows, "stated")) - share(rows, weights, _is(rows, "executed"))


@metric("%", ideal=None, rows=included)
def single_set_stated(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x Pr[stated attribution names exactly one input], in %. Table 11."""
    return share(rows, weights, _single(rows, "stated"))


@metric("%", ideal=None, rows=included)
def single_set_executed(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x Pr[executed attribution names exactly one input], in %. Table 11."""
    return share(rows, weights, _single(rows, "executed"))


@metric("%", ideal=100, rows=included)
def golden_given_single_stated(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x Pr[stated = {g} | stated names one input], in %. A diagnostic: the two sides condition on other items."""
    return 100 * ratio(total(rows, weights, _is(rows, "stated")), total(rows, weights, _single(rows, "stated")))


@metric("%", ideal=None, rows=included)
def golden_given_single_executed(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x Pr[executed = {g} | executed names one input], in %. A diagnostic, as above."""
    return 100 * ratio(total(rows, weights, _is(rows, "executed")), total(rows, weights, _single(rows, "executed")))
