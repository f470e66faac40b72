"""The cells of a report of 3,552 outcomes: what a benchmark gives to other ways of resampling."""

from __future__ import annotations

import time

from harness.bootstrap import Resamples
from harness.metrics.metric import Metric
from harness.outcome import Estimate
from harness.rows import Rows
from harness.tables.grid import build
from harness.tests.validity.synthetic import answered, right_with, with_confidence


class Noting(Resamples):
    """Resamples that remember the rows of the cells they were asked for."""

    __slots__ = ()
    cells: list[Rows] = []  # noqa: RUF012 - one benchmark, one list

    def estimate(self, metric: Metric, rows: Rows) -> Estimate:
        self.cells.append(metric.select(rows))
        return super().estimate(metric, rows)


def cells_of_a_report(resamples: int) -> tuple[list[list[int]], float]:
    """The right and wrong answers of each cell with more than one unit, and CPU seconds for all tables (best of three)."""
    rows = Rows.of(with_confidence(answered(right_with(0.7)), lambda o: 0.95))
    drawn = Resamples.draw(rows, resamples)
    noting = Noting(drawn.weights, drawn.seed)
    Noting.cells.clear()
    build(rows, noting)
    cells = [c.correct.astype(int).tolist() for c in noting.cells if len(c) and len(set(c.unit)) > 1]
    times = []
    for _ in range(3):
        start = time.process_time()
        fresh = Rows.of(rows.outcomes)
        build(fresh, Resamples.draw(fresh, resamples))
        times.append(time.process_time() - start)
    return cells, min(times)
