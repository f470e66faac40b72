"""Abstention that depends on which evidence is missing (optical-spectra paper, formula 1; tables 7 and 10).

U is "answered undetermined" and A is "correct", for one instance i in one view r, after the cuts full, outside and
inside. Rows that are not usable have U = 0 and A = 0. Always abstaining and never abstaining both give D_scope = 0.
Both measures are relative: read them next to ``scope_full``.
"""

from __future__ import annotations

import numpy as np

from ..bootstrap import share
from ..rows import Rows
from .metric import attempted, metric
from .paired import pairs

QUESTION = ("model", "spec", "task", "instance", "view", "template", "repeat")


def _with_cuts(rows: Rows, *cuts: str) -> Rows:
    """Rows of the questions that were asked after each of these cuts."""
    rows = attempted(rows).where(cut=list(cuts))
    group = rows.groups(*QUESTION)
    complete = np.ones(len(rows) and group.max() + 1, bool)
    for cut in cuts:
        complete &= np.bincount(group[rows.among("cut", cut)], minlength=len(complete)) > 0
    return rows.take(complete[group])


def full_views(rows: Rows) -> Rows:
    """The full views of scope questions: those that were also asked after an outside cut."""
    return _with_cuts(rows, "full", "outside").where(cut="full")


def inside_and_outside(rows: Rows) -> Rows:
    return _with_cuts(rows, "inside", "outside")


def outside_and_full(rows: Rows) -> Rows:
    return _with_cuts(rows, "outside", "full")


@metric("%", ideal=100, rows=full_views)
def scope_full(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x E[A_full], in %, on scope sets. Ideal 100."""
    return share(rows, weights, rows.correct)


@metric("points", ideal=100, rows=inside_and_outside)
def d_scope(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """D_scope = 100 x E[U_in - U_out], in points. Ideal +100."""
    inside, outside = rows.where(cut="inside"), rows.where(cut="outside")
    return share(inside, weights, inside.abstained) - share(outside, weights, outside.abstained)


@metric("points", ideal=0, rows=outside_and_full)
def delta_out(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """Delta_out = 100 x E[A_out - A_full], in points. Ideal 0."""
    outside, full = rows.where(cut="outside"), rows.where(cut="full")
    return share(outside, weights, outside.correct) - share(full, weights, full.correct)


def in_both_orders(rows: Rows, column: str, reference: str) -> Rows:
    """Questions asked after both cuts on the eV table in ascending and in descending order: the descending rows."""
    return inside_and_outside(pairs(rows.where(view="table_ev_desc"), column, reference))


@metric("points", ideal=0, rows=in_both_orders, column="view", reference="table_ev")
def row_order_scope_effect(rows: Rows, weights: np.ndarray, column: str, reference: str) -> np.ndarray:
    """D_scope on the descending eV table - D_scope on the ascending one, in points. Ideal 0. Table 6."""
    _, ascending = rows.partners(column, reference)
    return d_scope.compute(rows, weights) - d_scope.compute(ascending, weights)
