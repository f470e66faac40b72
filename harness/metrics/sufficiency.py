"""The flag against the known truth: data whose regime is known by construction say whether an input settles the answer.

These grade the claim about the evidence, not about the model's own behaviour: a control that the modality paper lacks.
"""

from __future__ import annotations

import numpy as np

from ..bootstrap import share
from ..outcome import Outcome
from ..rows import Rows
from .arms import INSUFFICIENT, singles, suite
from .metric import metric


def _known(o: Outcome) -> bool | None:
    """Whether the supplied input settles the answer, None where the data do not say."""
    known: bool | None = o.facts.get("sufficient", {}).get(o.facts.get("arm", ""))
    return known


def _flags(rows: Rows) -> np.ndarray:
    """(n,) bool: flagged insufficient."""
    return rows.derived("sufficiency: flag", lambda r: np.array(
        [o.claims.get("sufficiency") == INSUFFICIENT for o in r.outcomes], bool))


def _settled(rows: Rows) -> np.ndarray:
    """(n,) float: 1 settled, 0 not, NaN unknown."""
    return rows.derived("sufficiency: known", lambda r: np.array(
        [np.nan if _known(o) is None else float(bool(_known(o))) for o in r.outcomes], float))


def known(rows: Rows) -> Rows:
    """Usable single-input assessments of items whose sufficiency is known."""
    rows = singles(rows)
    return rows.take(rows.usable & np.isfinite(_settled(rows)))


def settled(rows: Rows) -> Rows:
    rows = known(rows)
    return rows.take(_settled(rows) == 1)


def unsettled(rows: Rows) -> Rows:
    rows = known(rows)
    return rows.take(_settled(rows) == 0)


@metric("%", ideal=100, rows=known)
def known_sufficiency(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x flags that state the known sufficiency of the supplied input, in %. Ideal 100; always SUFFICIENT gets
    the share of settled items."""
    return share(rows, weights, _flags(rows) == (_settled(rows) == 0))


@metric("%", ideal=0, rows=unsettled)
def overclaimed_sufficiency(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x SUFFICIENT among the items that the supplied input does not settle, in %. Ideal 0."""
    return share(rows, weights, ~_flags(rows))


@metric("%", ideal=0, rows=settled)
def underclaimed_sufficiency(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x INSUFFICIENT among the items that the supplied input settles, in %. Ideal 0."""
    return share(rows, weights, _flags(rows))


def readable(rows: Rows) -> Rows:
    """Attempted rows whose supplied inputs support an answer that a program could read."""
    rows = suite(rows)
    return rows.take(rows.derived("sufficiency: readable", lambda r: np.array(
        [bool(o.facts.get("supports")) for o in r.outcomes], bool)))


@metric("%", ideal=None, rows=readable)
def supported_accuracy(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x answers that the supplied inputs support, in %. 100 for the oracle, or a suite is not readable as keyed.

    No ideal for models: where the inputs do not settle the answer, the right one cannot be known from them.
    """
    return share(rows, weights, rows.derived("sufficiency: supported", lambda r: np.array(
        [o.status == "usable" and o.choice == o.facts.get("supports") for o in r.outcomes], bool)))
