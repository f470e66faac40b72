"""Report of 20,000 outcomes against the naive way: one metric, one cell, one bootstrap loop at a time."""

from __future__ import annotations

import time

import pytest

from harness.bootstrap import Resamples
from harness.metrics.metric import load
from harness.outcome import Estimate, Outcome, Table
from harness.report.document import build
from harness.report.html import page
from harness.rows import Rows
from harness.tests.validity.synthetic import answered, right_with

RESAMPLES = 2000
LOOPS = 60
"""Resamples that the naive way is timed on; its time grows in proportion."""


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    made: list[Outcome] = []
    for k in range(6):
        made += answered(right_with(0.4 + 0.1 * k), n=48, model=f"m{k}")
    return made[:20_000]


def naive(outcomes: list[Outcome], loops: int) -> float:
    """Seconds a cell for ``loops`` resamples, each a call of the metric on the rows of that cell alone."""
    spent, cells = 0.0, 0
    for model in ("m0", "m3"):
        for name in ("core_accuracy", "paired_difference", "agreement_all", "flip_rate"):
            rows = Rows.of(o for o in outcomes if o.model == model)
            weights, metric = Resamples.draw(rows, loops, 1).weights, load(name)
            start = time.perf_counter()
            for b in range(loops):
                metric(rows, weights[b : b + 1])
            spent += time.perf_counter() - start
            cells += 1
    return spent / cells


def cells_of(tables: tuple[Table, ...]) -> int:
    return sum(isinstance(c, Estimate) for t in tables for row in t.rows for c in row)


def test_a_report_of_20_000_outcomes_is_at_least_five_times_faster_than_one_cell_at_a_time(outcomes):
    run = {"id": "r", "seed": 1, "resamples": RESAMPLES, "specs": {}, "models": {}}
    start = time.perf_counter()
    document = build(outcomes, run)
    ours = time.perf_counter() - start
    cells = cells_of(document.tables)
    theirs = naive(outcomes, LOOPS) * (RESAMPLES / LOOPS) * cells
    print(
        f"\n{len(outcomes):,} outcomes, {cells} cells: {ours:.2f} s, "
        f"one cell at a time {theirs:.0f} s ({theirs / ours:.0f}x)"
    )
    assert theirs > 5 * ours


def test_the_page_of_20_000_outcomes_takes_less_time_than_ten_times_its_tables(outcomes):
    run = {"id": "r", "seed": 1, "resamples": RESAMPLES, "specs": {}, "models": {}}
    start = time.perf_counter()
    document = build(outcomes, run)
    tables = time.perf_counter() - start
    start = time.perf_counter()
    made = page(document)
    spent = time.perf_counter() - start
    print(f"\ntables {tables:.2f} s, page {spent:.2f} s, {len(made) / 1e6:.1f} MB")
    assert spent < 10 * tables
