"""Retrospective attribution (modality paper, section 3.2, tables 2 and 9).

delta(a, w) collects the inputs whose alone-answer reproduces the joint one. Stated: the claims of the joint assessment
against its own answer. Executed: the three plain arms (or, matched, the three assessment arms).
``first`` and ``second`` are the two inputs, ``neither`` means that neither alone reproduces the answer ("both" in the
paper's tables), ``either`` that each does.
"""

from __future__ import annotations

import numpy as np

from ..bootstrap import share, total
from ..rows import Ints, Rows
from .arms import CATEGORIES, joints, retrospective
from .metric import Metric, metric


def scored(rows: Rows) -> Rows:
    """Usable joint assessments whose three plain arms are usable too."""
    rows = joints(rows)
    return rows.take(np.array([r is not None and r.executed is not None for r in retrospective(rows)], bool))


def common(rows: Rows) -> Rows:
    """Those whose three assessment arms are usable as well (appendix A.3)."""
    rows = scored(rows)
    return rows.take(np.array([r.executed_assessed is not None for r in retrospective(rows)], bool))


def codes(rows: Rows, side: str) -> Ints:
    """(n,) int, an index into CATEGORIES."""
    return np.array([getattr(r, side) for r in retrospective(rows)], int)


def _share(name: str, side: str, category: str, chosen: object, doc: str) -> Metric:
    at = CATEGORIES.index(category)

    def function(rows: Rows, weights: np.ndarray) -> np.ndarray:
        return share(rows, weights, codes(rows, side) == at)
    function.__doc__ = doc
    return Metric(name, function, chosen, "%", None)  # type: ignore[arg-type]


def _gap(name: str, category: str) -> Metric:
    at = CATEGORIES.index(category)

    def function(rows: Rows, weights: np.ndarray) -> np.ndarray:
        return share(rows, weights, codes(rows, "executed") == at) - share(rows, weights, codes(rows, "stated") == at)
    function.__doc__ = f"100 x (Pr[executed = {category}] - Pr[stated = {category}]), in points. Ideal 0. Table 2."
    return Metric(name, function, scored, "points", 0)


def _stated(category: str) -> Metric:
    return _share(f"stated_{category}", "stated", category, scored,
                  f"100 x Pr[stated attribution = {category}], in %. Table 2.")


def _executed(category: str) -> Metric:
    return _share(f"executed_{category}", "executed", category, scored,
                  f"100 x Pr[executed attribution = {category}], in %, from the plain arms. Table 2.")


stated_first, stated_second = _stated("first"), _stated("second")
stated_neither, stated_either = _stated("neither"), _stated("either")
executed_first, executed_second = _executed("first"), _executed("second")
executed_neither, executed_either = _executed("neither"), _executed("either")
attribution_gap_first, attribution_gap_second = (
    _gap("attribution_gap_first", "first"),
    _gap("attribution_gap_second", "second"),
)
attribution_gap_neither, attribution_gap_either = (
    _gap("attribution_gap_neither", "neither"),
    _gap("attribution_gap_either", "either"),
)


def matched(side: str, category: str) -> Metric:
    """A share on the common item set; ``side`` is stated, executed (plain) or executed_assessed. Table 9."""
    return _share(
        f"{side}_{category}_common", side, category, common, f"{side} {category} on the common item set, in %."
    )


@metric("%", ideal=100, rows=scored)
def attribution_agreement(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x Pr[stated = executed attribution of the same item], in %. Ideal 100; see ``attribution_chance``.

    The distributions of table 2 are marginals and do not imply agreement on any item.
    """
    return share(rows, weights, codes(rows, "stated") == codes(rows, "executed"))


@metric("%", ideal=None, rows=scored)
def attribution_chance(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """Chance level of ``attribution_agreement``, in %: sum over the four attributions of stated x executed share."""
    stated, executed = codes(rows, "stated"), codes(rows, "executed")
    n = total(rows, weights)
    hits = sum(total(rows, weights, stated == k) * total(rows, weights, executed == k) for k in range(len(CATEGORIES)))
    with np.errstate(invalid="ignore", divide="ignore"):
        return 100 * np.asarray(hits) / (n * n)
