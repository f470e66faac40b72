"""Probabilities: errors made with confidence, and calibration (optical-spectra paper, section 4.2; table 9).

Probabilities that a model states about itself and those read from its outputs are not the same thing: rows of both
kinds are refused (``DataError``). Where a usable reply came without probabilities they are unavailable, never 0.
"""

from __future__ import annotations

import math

import numpy as np

from ..bootstrap import ratio, share, total
from ..errors import DataError
from ..outcome import Outcome
from ..rows import Rows
from .metric import attempted, metric

HIGH = 0.9
BINS = 10


def one_kind(rows: Rows) -> Rows:
    kinds = [k for k in rows.distinct("probability_kind") if k]
    if len(kinds) > 1:
        raise DataError(f"probability_kind: rows mix {' and '.join(kinds)}; these are never pooled, filter for one")
    return rows


def with_confidence(rows: Rows) -> Rows:
    """All attempted rows of models that give probabilities, less usable replies that came without them.

    Unreadable replies stay in: the paper's fraction is one of all requests.
    """
    rows = one_kind(attempted(rows))
    has = np.isfinite(_top_probabilities(rows)) & rows.usable
    model = rows.codes("model")
    gives = np.bincount(model[has], minlength=model.max() + 1)[model] > 0 if len(rows) else has
    return rows.take(gives & (has | ~rows.usable))


def with_probabilities(rows: Rows) -> Rows:
    rows = one_kind(rows.take(rows.usable))
    return rows.take(np.isfinite(_square_errors(rows)))


def with_label_mass(rows: Rows) -> Rows:
    rows = attempted(rows)
    return rows.take(np.isfinite(rows.numbers("label_mass")))


def _square_error(outcome: Outcome) -> float:
    if not outcome.probabilities:
        return math.nan
    options = {*outcome.probabilities, outcome.expected}
    return math.fsum((outcome.probabilities.get(k, 0.0) - (k == outcome.expected)) ** 2 for k in sorted(options))


def _square_errors(rows: Rows) -> np.ndarray:
    return rows.computed("square_error", _square_error)


def _top_probabilities(rows: Rows) -> np.ndarray:
    """(n,) max over options of p(k), which need not be that of the choice: a model states both itself."""
    return rows.computed("top_probability", lambda o: max((o.probabilities or {"": math.nan}).values()))


@metric("%", ideal=0, rows=with_confidence)
def high_confidence_errors(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x (readable choice wrong and max over options of p(k) >= 0.9) / requests, in %. Ideal 0. Table 9."""
    wrong = rows.usable & ~rows.correct & (np.nan_to_num(_top_probabilities(rows)) >= HIGH)
    return share(rows, weights, wrong)


@metric("score", ideal=0, rows=with_probabilities)
def brier(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """Mean over requests of sum over options k of (p(k) - [k is right])^2; 0 to 2. Ideal 0 (Brier 1950)."""
    return ratio(total(rows, weights, _square_errors(rows)), total(rows, weights))


@metric("points", ideal=0, rows=with_probabilities)
def calibration_error(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x sum over 10 equal bins of confidence of (share of requests) x |accuracy - mean confidence|, in points.

    Ideal 0. Never negative, so resamples and small samples lie above the truth; compare like with like.
    """
    confidence = _top_probabilities(rows)
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = np.zeros(len(weights))
    for b in np.unique(bins):
        part = rows.take(bins == b)
        gaps += np.abs(total(part, weights, part.correct - confidence[bins == b]))
    return 100 * ratio(gaps, total(rows, weights))


@metric("%", ideal=100, rows=with_label_mass)
def label_mass(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x mean share of the full next-token probability that the options hold, in %. Ideal 100. Appendix E."""
    return share(rows, weights, rows.numbers("label_mass"))
