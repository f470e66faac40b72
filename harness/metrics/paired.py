"""Comparisons of each request with the one that differs in a single part of its key: view, variant, repeat or model.

The filter of a gate or table picks the requests; their partners are found in all outcomes. A request without a partner
(an arm that this model does not have) does not enter; without any there is no data.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..bootstrap import share
from ..rows import Bools, Rows
from .accuracy import core
from .metric import attempted, metric

REFERENCE_VIEW = "table_nm"


def pairs(rows: Rows, column: str, reference: Any) -> Rows:
    """The attempted rows whose partner was attempted too; the reference itself is no pair."""
    rows = attempted(rows)
    rows = rows.take(~rows.among(column, reference))
    found, partners = rows.partners(column, reference)
    return rows.take(found).take(partners.attempted)


def core_pairs(rows: Rows, column: str, reference: Any) -> Rows:
    return pairs(core(rows), column, reference)


def chosen_pairs(rows: Rows, column: str, reference: Any) -> Rows:
    """The pairs in which both requests have a readable choice."""
    rows = pairs(rows, column, reference)
    _, partners = rows.partners(column, reference)
    return rows.take(rows.usable & partners.usable)


def _difference(rows: Rows, weights: np.ndarray, of: np.ndarray, reference: np.ndarray) -> np.ndarray:
    return share(rows, weights, of * 1.0 - reference)


def _same_choice(rows: Rows, column: str, reference: Any) -> Bools:
    """(n,) bool: both are usable and chose the same; two unreadable replies are not the same choice."""
    _, partners = rows.partners(column, reference)
    same: Bools = rows.codes("choice") == partners.codes("choice")
    return rows.usable & partners.usable & same


@metric("points", ideal=0, rows=core_pairs, column="view", reference=REFERENCE_VIEW)
def paired_difference(rows: Rows, weights: np.ndarray, column: str, reference: Any) -> np.ndarray:
    """100 x mean(correct - correct of the reference), in points, over core pairs. Ideal 0. Table 3.

    The reference is the nm table unless the name says otherwise: ``paired_difference[model=baseline]``.
    """
    _, partners = rows.partners(column, reference)
    return _difference(rows, weights, rows.correct, partners.correct)


@metric("points", ideal=0, rows=pairs, column="view", reference=REFERENCE_VIEW)
def paired_abstention_difference(rows: Rows, weights: np.ndarray, column: str, reference: Any) -> np.ndarray:
    """100 x mean(abstained - abstained of the reference), in points. Ideal 0."""
    _, partners = rows.partners(column, reference)
    return _difference(rows, weights, rows.abstained, partners.abstained)


@metric("%", ideal=0, rows=chosen_pairs, column="view", reference=REFERENCE_VIEW)
def flip_rate(rows: Rows, weights: np.ndarray, column: str, reference: Any) -> np.ndarray:
    """100 x pairs whose canonical choices differ / pairs with two readable choices, in %.

    Ideal 0 where the two ask the same (relation ``same``). Two different wrong answers are a flip; the same wrong
    answer is not, so read it next to the accuracy.
    """
    return share(rows, weights, ~_same_choice(rows, column, reference))


@metric("%", ideal=100, rows=pairs, column="repeat", reference=0)
def reproducibility(rows: Rows, weights: np.ndarray, column: str, reference: Any) -> np.ndarray:
    """100 x requests that repeat the choice of repeat 0 / attempted pairs, in %. Ideal 100. Appendix E.

    A pair with an unreadable reply has not been reproduced.
    """
    return share(rows, weights, _same_choice(rows, column, reference))


def descending(rows: Rows, column: str, reference: Any) -> Rows:
    return pairs(rows.where(view="table_ev_desc"), column, reference)


def descending_gaps(rows: Rows, column: str, reference: Any) -> Rows:
    return descending(rows.where(cut="inside", deletion="middle"), column, reference)


@metric("points", ideal=0, rows=descending, column="view", reference="table_ev")
def row_order_effect(rows: Rows, weights: np.ndarray, column: str, reference: Any) -> np.ndarray:
    """100 x mean(correct on the descending eV table - correct on the ascending one), in points. Ideal 0. Table 6."""
    _, partners = rows.partners(column, reference)
    return _difference(rows, weights, rows.correct, partners.correct)


@metric("points", ideal=0, rows=descending_gaps, column="view", reference="table_ev")
def row_order_gap_effect(rows: Rows, weights: np.ndarray, column: str, reference: Any) -> np.ndarray:
    """The same difference in abstention after a middle segment with the extremum was removed. Ideal 0. Table 6."""
    _, partners = rows.partners(column, reference)
    return _difference(rows, weights, rows.abstained, partners.abstained)
