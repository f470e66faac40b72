"""Kinds of 95 % interval. All start from the same resamples; ``percentile`` is the papers' and the default.

=============  ======================================================================================================
percentile     the 2.5 and 97.5 percentiles of the resampled values
bca            bias-corrected and accelerated percentiles (Efron 1987), acceleration from the jackknife over units
cluster-t      estimate +- t(m - 1) x jackknife standard error over the m units, cut off at the metric's range
wilson         Wilson's score interval with the effective n = p (1 - p) / se^2 and t(m - 1) for the normal quantile;
               without any variance n is m. For differences, which have no such form, the same as cluster-t
=============  ======================================================================================================

Near 0 and 100 %, and for few units, percentile intervals are too short; the other kinds are there for that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeAlias

import numpy as np

LEVEL = 0.95
Ends: TypeAlias = tuple[float, float]
RANGES: dict[str, Ends] = {"%": (0.0, 100.0), "points": (-100.0, 100.0)}
"""What a metric in this unit can be; other units are not bounded."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What an interval is made from.

    Attributes:
        value: the estimate.
        resampled: (b,) finite resampled values.
        jackknife: gives (m,) values, each without one of the m units; only some kinds ask for it.
        unit: of the metric: ``%``, ``points`` or another.
        n_units, n_requests: what the estimate rests on; n_units >= 2.
    """

    value: float
    resampled: np.ndarray
    jackknife: Callable[[], np.ndarray]
    unit: str
    n_units: int
    n_requests: int


def percentile(sample: Sample) -> Ends:
    low, high = np.quantile(sample.resampled, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return float(low), float(high)


def bca(sample: Sample) -> Ends:
    normal = NormalDist()
    below = np.mean(sample.resampled < sample.value) + np.mean(sample.resampled == sample.value) / 2
    if not 0 < below < 1:  # all resamples on one side: the correction is infinite
        return percentile(sample)
    left_out = sample.jackknife()
    left_out = left_out[np.isfinite(left_out)]
    deviation = left_out.mean() - left_out if len(left_out) else np.zeros(1)
    square = float((deviation**2).sum())
    acceleration = float((deviation**3).sum()) / (6 * square**1.5) if square > 0 else 0.0
    z0 = normal.inv_cdf(float(below))

    def share(z: float) -> float:
        return normal.cdf(z0 + (z0 + z) / (1 - acceleration * (z0 + z)))
    z = normal.inv_cdf((1 + LEVEL) / 2)
    low, high = np.quantile(sample.resampled, (share(-z), share(z)))
    return float(low), float(high)


def cluster_t(sample: Sample) -> Ends:
    low, high = RANGES.get(sample.unit, (-math.inf, math.inf))
    margin = t_quantile((1 + LEVEL) / 2, sample.n_units - 1) * standard_error(sample)
    return max(low, sample.value - margin), min(high, sample.value + margin)


def wilson(sample: Sample) -> Ends:
    if sample.unit != "%":
        return cluster_t(sample)
    p, error = min(max(sample.value / 100, 0.0), 1.0), standard_error(sample) / 100
    n = min(p * (1 - p) / error**2, sample.n_requests) if error > 0 and 0 < p < 1 else sample.n_units
    t2 = t_quantile((1 + LEVEL) / 2, sample.n_units - 1) ** 2
    centre = (p + t2 / (2 * n)) / (1 + t2 / n)
    margin = math.sqrt(t2 * p * (1 - p) / n + (t2 / (2 * n)) ** 2) / (1 + t2 / n)
    return 100 * max(0.0, centre - margin), 100 * min(1.0, centre + margin)


KINDS: dict[str, Callable[[Sample], Ends]] = {
    "percentile": percentile,
    "bca": bca,
    "cluster-t": cluster_t,
    "wilson": wilson,
}


def without_variance(value: float, n_units: int, unit: str) -> Ends:
    """What can be said where all n units gave the same value, and resampling therefore shows no width.

    Clopper and Pearson's bound on the share u of units that could differ, u = 1 - 0.025^(1/n) (about 3.7 / n), each
    differing as far as the unit of the metric allows.
    """
    low, high = RANGES.get(unit, (-math.inf, math.inf))
    share = 1 - ((1 - LEVEL) / 2) ** (1 / n_units)
    return value - share * (value - low), value + share * (high - value)


def standard_error(sample: Sample) -> float:
    """Jackknife over units: sqrt((m - 1) / m x sum of squared deviations)."""
    values = sample.jackknife()
    values = values[np.isfinite(values)]
    m = len(values)
    return math.sqrt((m - 1) / m * float(((values - values.mean()) ** 2).sum())) if m else 0.0


def t_quantile(p: float, df: int) -> float:
    """Quantile of Student's t."""
    from scipy.special import stdtrit  # a fifth of a second that most reports do not need

    return float(stdtrit(df, p))
