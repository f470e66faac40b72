"""Resamples of instances, and estimates made from them.

A metric is a pure function ``metric(rows, weights (B, n_units)) -> (B,)``: each row of ``weights`` says how often
every unit counts. A row of ones gives the estimate, a row of multinomial counts one resample, a row with a single zero
one jackknife value. Where a resample leaves a metric without data it is NaN.

The units of each spec are resampled among themselves, so that adding a spec to a run changes no number of another.
All tables and gates of a run share one :class:`Resamples`: every difference is paired by construction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

import numpy as np

from .errors import DataError, near
from .intervals import KINDS, Sample
from .outcome import Estimate
from .rows import Floats, Rows

RESAMPLES = 2000
"""Of the optical-spectra paper, section 4.2; the modality paper uses 10,000 in appendix C."""
MAX_EMPTY = 0.05
"""Above this share of resamples without data the rest no longer describe the estimate: there is no interval."""
_BLOCK = 20_000_000  # cells of a temporary array


class MetricLike(Protocol):
    """What :meth:`Resamples.estimate` needs of a metric (see ``harness.metrics.metric``)."""

    @property
    def unit(self) -> str: ...
    def select(self, rows: Rows) -> Rows: ...
    def compute(self, rows: Rows, weights: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True, slots=True)
class Resamples:
    """One seeded weight matrix for all units of a run.

    Attributes:
        weights: (B, n_units) float64, how often each unit was drawn; stored column by column.
        seed: declared in the run; the same units and seed give the same weights on every machine.
        kind: of interval, a name in ``harness.intervals.KINDS``.
    """

    weights: np.ndarray
    seed: int
    kind: str = "percentile"

    @classmethod
    def draw(cls, rows: Rows, n: int = RESAMPLES, seed: int = 0, kind: str = "percentile") -> Resamples:
        """Draw exactly ``n`` resamples of the units of ``rows.everything``, spec by spec.

        Raises:
            DataError: ``n`` or ``seed`` is no such number, or ``kind`` is unknown.
        """
        if not isinstance(n, int) or isinstance(n, bool) or n < 1:
            raise DataError(f"resamples: {n!r} is not a positive integer, e.g. {RESAMPLES}")
        if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
            raise DataError(f"seed: {seed!r} is not an integer from 0 on, e.g. 0")
        if kind not in KINDS:
            raise DataError(f"interval: {kind!r} is not a kind of interval{near(kind, KINDS)}")
        weights = np.empty((n, len(rows.units)), order="F")
        start = 0
        for spec, members in groupby(rows.units, key=lambda unit: unit[0]):
            size = sum(1 for _ in members)
            _fill(weights[:, start : start + size], spec, seed)
            start += size
        weights.setflags(write=False)
        return cls(weights, seed, kind)

    def estimate(self, metric: MetricLike, rows: Rows) -> Estimate:
        """The metric on ``rows``, with its interval.

        No data gives value None; one unit, or more than 5 % of resamples without data, gives interval None.
        """
        return self.drawn(metric, rows)[0]

    def drawn(self, metric: MetricLike, rows: Rows) -> tuple[Estimate, Floats]:
        """The estimate and the (B,) resampled values behind its interval, all NaN where these were not to be had."""
        rows = metric.select(rows)
        value, resampled, interval = point(metric, rows), np.full(len(self.weights), np.nan), None
        units = np.flatnonzero(np.bincount(rows.unit))
        if value is not None and len(units) > 1:
            resampled = metric.compute(rows, self.weights)
            if len(there := finite(resampled)):
                sample = Sample(value, there, lambda: jackknife(metric.compute, rows, units), metric.unit,
                                len(units), len(rows))
                interval = KINDS[self.kind](sample)
        return Estimate(value, interval, rows.n_instances, len(rows), metric.unit, len(units)), resampled


def finite(resampled: Floats) -> Floats:
    """The resampled values with data; none at all where more than 5 % are without."""
    there = resampled[np.isfinite(resampled)]
    return there if len(there) >= (1 - MAX_EMPTY) * len(resampled) else there[:0]


def point(metric: MetricLike, rows: Rows) -> float | None:
    """The metric on selected rows, each unit once; None without data."""
    value = float(metric.compute(rows, np.ones((1, len(rows.units))))[0]) if len(rows) else np.nan
    return value if np.isfinite(value) else None


def _fill(out: np.ndarray, spec: str, seed: int) -> None:
    """Multinomial counts into ``out`` (B, n): each row draws n units out of n with replacement."""
    n_draws, size = out.shape
    name = int.from_bytes(hashlib.sha256(spec.encode()).digest()[:8])
    random = np.random.default_rng([seed, name])
    block = max(1, _BLOCK // size)
    for start in range(0, n_draws, block):
        rows = min(block, n_draws - start)
        drawn = random.integers(0, size, (rows, size)) + np.arange(rows)[:, None] * size
        out[start : start + rows] = np.bincount(drawn.ravel(), minlength=rows * size).reshape(rows, size)


def jackknife(compute: Callable[[Rows, np.ndarray], np.ndarray], rows: Rows, units: np.ndarray) -> np.ndarray:
    """(m,) values of the metric, each without one of the m ``units``."""
    n_units = len(rows.units)
    block = max(1, _BLOCK // n_units)
    parts = []
    for start in range(0, len(units), block):
        left_out = units[start : start + block]
        weights = np.ones((len(left_out), n_units), order="F")
        weights[np.arange(len(left_out)), left_out] = 0
        parts.append(compute(rows, weights))
    return np.concatenate(parts)


def total(rows: Rows, weights: np.ndarray, values: np.ndarray | None = None) -> Floats:
    """(B,) weighted sums over rows of ``values`` (n,), or of ones: the building block of nearly every metric."""
    return _totals(rows, weights, (values,))[:, 0]


def _totals(rows: Rows, weights: np.ndarray, columns: Sequence[np.ndarray | None]) -> Floats:
    """(B, k) weighted sums of k columns, in one pass over the weights."""
    if not len(rows):
        return np.zeros((len(weights), len(columns)))
    unit = rows.unit
    start, size = int(unit.min()), int(np.ptp(unit)) + 1  # the units of one spec stand next to each other
    per_unit = [np.bincount(unit - start, values, size) for values in columns]
    sums: Floats = weights[:, start : start + size] @ np.array(per_unit, float).T
    return sums


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> Floats:
    """(B,) quotient, NaN where the denominator is 0."""
    out = np.full(np.shape(numerator), np.nan)
    np.divide(numerator, denominator, out=out, where=np.asarray(denominator) != 0)
    return out


def share(rows: Rows, weights: np.ndarray, values: np.ndarray) -> Floats:
    """(B,) percent of the rows for which ``values`` (n,) holds (or their mean x 100)."""
    return 100 * ratio(*_totals(rows, weights, (values, None)).T)
