"""Speed of the analysis: ratios within one run, so that they hold on any machine.

The rival is ``scipy.stats.bootstrap`` in a loop over the same cells (one call an estimate, resampling instances), in
two forms: with the metric itself as the statistic, called once a resample, which is what one would write first; and
with sums per instance made beforehand and ``num[i].sum() / den[i].sum()`` as the statistic, the leanest loop, for
cells that are plain shares. Its time is measured on ``SAMPLE`` resamples a cell and extrapolated linearly to 2,000.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from harness.bootstrap import RESAMPLES, Resamples
from harness.metrics.metric import Metric
from harness.rows import Rows
from harness.tables.grid import build
from harness.tests.validity.synthetic import answered, right_with, with_confidence

SAMPLE = 40


class Noting(Resamples):
    """Resamples that remember the cells they were asked for."""

    __slots__ = ()
    cells: list[tuple[Metric, Rows]] = []  # noqa: RUF012 - one benchmark, one list

    def estimate(self, metric, rows):
        self.cells.append((metric, metric.select(rows)))
        return super().estimate(metric, rows)


@pytest.fixture(scope="module")
def outcomes():
    return with_confidence(answered(right_with(0.7)), lambda o: 0.95)


@pytest.fixture(scope="module")
def cells(outcomes) -> list[tuple[Metric, Rows]]:
    rows = Rows.of(outcomes)
    drawn = Resamples.draw(rows)
    noting = Noting(drawn.weights, drawn.seed)
    Noting.cells.clear()
    build(rows, noting)
    return [(metric, rows) for metric, rows in Noting.cells if len(rows) and len(set(rows.unit)) > 1]


def all_tables(outcomes) -> None:
    rows = Rows.of(outcomes)
    build(rows, Resamples.draw(rows))


def best_of(n: int, run: Callable[[], object]) -> float:
    times = []
    for _ in range(n):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def looped(statistic: Callable, units: np.ndarray) -> float:
    """Seconds that scipy would need for RESAMPLES resamples, from SAMPLE of them."""

    def run(n: int) -> None:
        stats.bootstrap((units,), statistic, n_resamples=n, vectorized=False, method="percentile", rng=0)

    start = time.perf_counter()
    with np.errstate(all="ignore"):
        run(SAMPLE)
    return (time.perf_counter() - start) * RESAMPLES / SAMPLE


def test_all_tables_of_3552_rows_are_100_times_faster_than_scipy_over_the_same_cells(benchmark, outcomes, cells):
    assert len(outcomes) == 3552

    def statistic(metric: Metric, rows: Rows) -> Callable:
        n_units = len(rows.units)
        return lambda drawn: float(metric.compute(rows, np.bincount(drawn, minlength=n_units)[None, :] * 1.0)[0])

    loop = sum(looped(statistic(metric, rows), np.unique(rows.unit)) for metric, rows in cells)
    benchmark.pedantic(all_tables, args=(outcomes,), rounds=5, warmup_rounds=1)
    ours = min(benchmark.stats.stats.data)
    benchmark.extra_info.update(cells=len(cells), loop_s=loop, ratio=loop / ours)
    print(f"\n{len(cells)} cells: {ours * 1000:.0f} ms, scipy loop {loop:.1f} s, {loop / ours:.0f}x")
    assert loop / ours >= 100


def test_shares_are_faster_than_the_leanest_scipy_loop(benchmark, outcomes, cells):
    plain = [(metric, rows) for metric, rows in cells if metric.name in ("core_accuracy", "attrition")]

    def lean(rows: Rows) -> Callable:
        right = np.bincount(rows.unit, rows.correct, len(rows.units))
        n = np.bincount(rows.unit, minlength=len(rows.units))
        return lambda drawn: right[drawn].sum() / n[drawn].sum()

    loop = sum(looped(lean(rows), np.unique(rows.unit)) for _, rows in plain)
    resamples = Resamples.draw(Rows.of(outcomes))

    def ours() -> None:
        for metric, rows in plain:
            resamples.estimate(metric, rows)

    benchmark.pedantic(ours, rounds=5, warmup_rounds=1)
    ratio = loop / min(benchmark.stats.stats.data)
    benchmark.extra_info.update(cells=len(plain), loop_s=loop, ratio=ratio)
    print(f"\n{len(plain)} shares: {ratio:.0f}x")
    assert ratio >= 20


def test_200000_rows_take_time_linear_in_rows(benchmark):
    one = answered(right_with(0.7))
    models = [[_as(o, f"model-{i:02}") for o in one] for i in range(57)]
    few, many = [o for m in models[:6] for o in m], [o for m in models for o in m]
    assert len(many) > 200_000
    small = best_of(2, lambda: all_tables(few))
    benchmark.pedantic(all_tables, args=(many,), rounds=1)
    large = benchmark.stats.stats.data[0]
    growth, rows = large / small, len(many) / len(few)
    benchmark.extra_info.update(rows=len(many), seconds=large, growth=growth, rows_growth=rows)
    print(f"\n{len(many):,} rows: {large:.1f} s; {rows:.1f} times the rows took {growth:.1f} times as long")
    assert growth < 1.5 * rows


def _as(outcome, model: str):
    return replace(outcome, model=model, key=f"{outcome.key.rpartition('/')[0]}/{model}")
