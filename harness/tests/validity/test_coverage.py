"""Do 95 % intervals hold the truth in 95 % of all runs? Synthetic runs of instances with random effects."""

from __future__ import annotations

import numpy as np
import pytest

from harness.bootstrap import Resamples
from harness.metrics.metric import load
from harness.rows import Rows
from harness.tests.validity.synthetic import row

RUNS = 600


class Population:
    """Instances whose chance of a right answer varies: p_i ~ Beta with mean ``mean``; views of one instance share it.

    The same columns serve all runs; only what was answered changes.
    """

    def __init__(self, n: int, mean: float, spread: float, variants: int = 4, views: tuple[str, ...] = ("table_nm",)):
        self.n, self.shape = n, (mean * spread, (1 - mean) * spread)
        template = [
            row(instance=f"i{i:03}", variant=f"v{k}", view=v) for i in range(n) for k in range(variants) for v in views
        ]
        self.rows = Rows.of(template)
        self.instance = np.array([int(o.instance[1:]) for o in self.rows.outcomes])
        self.weights = [Resamples.draw(self.rows, 1000, seed).weights for seed in range(8)]

    def run(self, seed: int, effect=lambda rows: 0.0) -> Rows:
        """The rows of one run; ``effect`` (n,) is added to the chance of a right answer."""
        random = np.random.default_rng(seed)
        p = random.beta(*self.shape, self.n)[self.instance]
        right = random.random(len(p)) < np.clip(p + effect(self.rows), 0, 1)
        return answered_as(self.rows, right)


def answered_as(rows: Rows, right: np.ndarray) -> Rows:
    """The same rows with other answers, at once; much faster than new outcomes."""
    columns = type(rows._columns)(rows._columns.outcomes)
    columns._cache[("flag", "correct")] = right
    return Rows(columns, np.arange(len(rows)))


def coverage(
    population: Population,
    metric: str,
    truth: float,
    kind: str = "percentile",
    effect=lambda rows: 0.0,
    runs: int = RUNS,
) -> float:
    """Percent of the runs whose interval holds the truth."""
    hits = 0
    for seed in range(runs):
        rows = population.run(seed, effect)
        resamples = Resamples(population.weights[seed % len(population.weights)], seed, kind)
        low, high = resamples.estimate(load(metric), rows).interval
        hits += low - 1e-9 <= truth <= high + 1e-9
    return 100 * hits / runs


@pytest.mark.parametrize("mean, spread", [(0.5, 2.0), (0.7, 5.0), (0.3, 1.0)])
def test_percentile_intervals_of_clustered_accuracy_cover_the_truth(mean, spread):
    assert 92 <= coverage(Population(60, mean, spread), "accuracy", 100 * mean) <= 97.5


def test_percentile_intervals_of_paired_differences_cover_the_truth():
    population = Population(48, 0.6, 4.0, views=("table_nm", "table_ev"))

    def worse(rows: Rows) -> np.ndarray:
        return np.where(rows.among("view", "table_ev"), -0.1, 0.0)

    # a chance clipped at 0 loses less than 10 points: the truth is the mean of max(p - 0.1, 0) - p over the population
    p = np.random.default_rng(0).beta(*population.shape, 400_000)
    truth = 100 * float(np.mean(np.maximum(p - 0.1, 0) - p))
    assert 92 <= coverage(population, "paired_difference", truth, effect=worse) <= 97.5


@pytest.mark.parametrize("kind", ["bca", "cluster-t", "wilson"])
def test_the_other_kinds_of_interval_cover_the_truth_too(kind):
    assert 92 <= coverage(Population(40, 0.6, 3.0), "accuracy", 60, kind, runs=300) <= 98.5


def test_with_few_instances_the_wilson_type_covers_where_percentiles_do_not():
    few = Population(8, 0.9, 5.0, variants=2)
    percentile, wilson = (coverage(few, "accuracy", 90, kind, runs=400) for kind in ("percentile", "wilson"))
    assert (percentile < 92, wilson >= 92) == (True, True)


def test_rowwise_intervals_of_clustered_rows_do_not_cover_and_ours_do():
    population = Population(40, 0.5, 0.5, variants=8)
    apart = Rows.of([row(instance=f"{o.instance}-{o.variant}") for o in population.rows.outcomes])
    weights = Resamples.draw(apart, 1000).weights
    hits = 0
    for seed in range(300):
        right = population.run(seed).correct
        low, high = Resamples(weights, 0).estimate(load("accuracy"), answered_as(apart, right)).interval
        hits += low <= 50 <= high
    assert hits / 3 < 75 < 92 <= coverage(population, "accuracy", 50, runs=300)


def test_two_runs_of_one_model_differ_significantly_in_about_one_of_twenty():
    population = Population(48, 0.6, 4.0, views=("table_nm", "table_ev"))  # the views stand for two runs
    excludes_zero = 100 - coverage(population, "paired_difference", 0.0)
    assert 2.5 <= excludes_zero <= 8
