from __future__ import annotations

import random

import numpy as np
import pytest
from scipy import stats

from harness.bootstrap import Resamples
from harness.errors import DataError
from harness.metrics.metric import load
from harness.outcome import Estimate
from harness.rows import Rows
from harness.tests.validity.synthetic import answered, right_with, row

accuracy = load("accuracy")


def mixed(n: int = 30, rows_each: int = 4, seed: int = 0):
    """Instances of which each has its own chance of being answered right."""
    chance = np.random.default_rng(seed)
    return [
        row(instance=f"i{i:02}", variant=f"v{k}", choice="A" if chance.random() < p else "B")
        for i, p in enumerate(chance.random(n))
        for k in range(rows_each)
    ]


def test_every_resample_draws_as_many_units_as_there_are_in_each_spec():
    rows = Rows.of([row(spec=s, instance=f"i{i}") for s, n in (("a", 5), ("b", 9)) for i in range(n)])
    weights = Resamples.draw(rows, 50).weights
    assert (set(weights[:, :5].sum(1)), set(weights[:, 5:].sum(1))) == ({5.0}, {9.0})


def test_the_number_of_resamples_is_exact():
    assert Resamples.draw(Rows.of([row()]), 2501).weights.shape == (2501, 1)


@pytest.mark.parametrize("n", [0, -1, 2.5, True])
def test_a_number_of_resamples_that_is_none_is_refused(n):
    with pytest.raises(DataError, match="not a positive integer"):
        Resamples.draw(Rows.of([row()]), n)


@pytest.mark.parametrize("seed", [-1, "x", None, 1.5])
def test_a_seed_that_is_none_is_refused(seed):
    with pytest.raises(DataError, match="not an integer from 0 on"):
        Resamples.draw(Rows.of([row()]), 10, seed)


def test_an_unknown_kind_of_interval_names_the_valid_ones():
    with pytest.raises(DataError, match=r"did you mean 'bca'\? valid: percentile, bca, cluster-t, wilson"):
        Resamples.draw(Rows.of([row()]), kind="BCA ")


def test_the_same_seed_gives_the_same_weights_and_another_gives_others():
    rows = Rows.of(mixed())
    a, b, c = (Resamples.draw(rows, 20, seed).weights for seed in (1, 1, 2))
    assert ((a == b).all(), (a == c).all()) == (True, False)


def test_weights_do_not_depend_on_the_order_of_the_outcomes():
    outcomes = mixed()
    shuffled = random.Random(0).sample(outcomes, len(outcomes))
    assert (Resamples.draw(Rows.of(outcomes), 20).weights == Resamples.draw(Rows.of(shuffled), 20).weights).all()


def test_adding_a_spec_or_a_model_changes_no_number_of_another():
    alone = mixed()
    more = [
        *alone,
        *(row(spec="a-first", instance=f"x{i}") for i in range(7)),
        *(row(model="z", instance=o.instance, variant=o.variant) for o in alone),
    ]
    a, b = Rows.of(alone), Rows.of(more)
    assert Resamples.draw(a).estimate(accuracy, a) == Resamples.draw(b).estimate(accuracy, b.where(spec="s", model="m"))


def test_no_data_is_none_and_never_zero():
    rows = Rows.of([row()])
    assert Resamples.draw(rows, 10).estimate(accuracy, rows.where(model="other")) == Estimate(None, None, 0, 0, "%")


def test_one_cluster_has_an_estimate_but_no_interval():
    rows = Rows.of([row(instance=f"i{i}", cluster="only", choice="AB"[i % 2]) for i in range(4)])
    assert Resamples.draw(rows, 10).estimate(accuracy, rows) == Estimate(50.0, None, 4, 4, "%", n_units=1)


def test_an_estimate_counts_the_clusters_that_were_resampled_beside_its_instances():
    rows = Rows.of([row(instance=f"i{i}", cluster=f"c{i % 3}", choice="AB"[i % 2]) for i in range(12)])
    found = Resamples.draw(rows, 10).estimate(accuracy, rows)
    assert (found.n_instances, found.n_units, found.n_requests) == (12, 3, 12)


def test_without_clusters_an_estimate_has_as_many_units_as_instances():
    assert Estimate(50.0, None, 7, 9).n_units == 7


def test_the_values_behind_an_interval_are_those_that_gave_it():
    rows = Rows.of(mixed())
    estimate, drawn = Resamples.draw(rows, 300).drawn(accuracy, rows)
    assert estimate.interval == pytest.approx(tuple(np.quantile(drawn, (0.025, 0.975))))


def test_one_cluster_has_no_resampled_values():
    rows = Rows.of([row(instance=f"i{i}", cluster="only", choice="AB"[i % 2]) for i in range(4)])
    assert np.isnan(Resamples.draw(rows, 10).drawn(accuracy, rows)[1]).all()


def test_a_cell_that_most_resamples_may_miss_has_no_interval():
    rows = Rows.of(
        [row(instance=f"i{i}", view="plot_nm" if i < 2 else "table_nm", choice="AB"[i % 2]) for i in range(40)]
    )
    # two of forty units: (38/40)^40 = 13 % of the resamples hold neither
    assert Resamples.draw(rows).estimate(accuracy, rows.where(view="plot_nm")).interval is None


def test_intervals_equal_those_of_scipy_up_to_the_noise_of_resampling():
    rows = Rows.of(mixed(40))
    ours = Resamples.draw(rows, 20_000).estimate(accuracy, rows)
    right = np.bincount(rows.unit, rows.correct) / np.bincount(rows.unit)
    theirs = stats.bootstrap((right,), np.mean, n_resamples=20_000, method="percentile", rng=1).confidence_interval
    assert ours.interval == pytest.approx((100 * theirs.low, 100 * theirs.high), abs=0.7)  # one row in 160 is 0.625


def test_bca_intervals_equal_those_of_scipy_up_to_the_noise_of_resampling():
    rows = Rows.of(mixed(40, seed=3))
    ours = Resamples.draw(rows, 20_000, kind="bca").estimate(accuracy, rows)
    right = np.bincount(rows.unit, rows.correct) / np.bincount(rows.unit)
    theirs = stats.bootstrap((right,), np.mean, n_resamples=20_000, method="BCa", rng=1).confidence_interval
    assert ours.interval == pytest.approx((100 * theirs.low, 100 * theirs.high), abs=0.7)  # one row in 160 is 0.625


def test_clustered_intervals_are_wider_than_rowwise_ones_when_rows_of_an_instance_are_alike():
    alike = [
        row(instance=f"i{i:02}", variant=f"v{k}", choice="A" if i % 2 else "B") for i in range(30) for k in range(8)
    ]
    apart = [row(instance=f"{o.instance}-{o.variant}", choice=o.choice) for o in alike]
    clustered, rowwise = (Resamples.draw(r).estimate(accuracy, r) for r in (Rows.of(alike), Rows.of(apart)))
    assert width(clustered) > 2.5 * width(rowwise)  # all 8 rows alike: sqrt(8) = 2.8 times


def test_clusters_widen_the_intervals_of_their_instances():
    free = [row(instance=f"i{i:02}", choice="A" if (i // 6) % 2 else "B") for i in range(36)]
    tied = [row(instance=o.instance, choice=o.choice, cluster=f"c{int(o.instance[1:]) // 6}") for o in free]
    one, other = (Resamples.draw(r).estimate(accuracy, r) for r in (Rows.of(free), Rows.of(tied)))
    assert (one.n_instances, other.n_instances, width(other) > 1.8 * width(one)) == (36, 36, True)


def test_shuffled_and_duplicated_outcomes_give_identical_estimates_for_every_metric():
    from harness.metrics import METRICS

    outcomes = answered(right_with(0.6), n=6, repeats=2) + answered(right_with(0.6), n=6, scope=True, spec="scope")
    twice = random.Random(3).sample(outcomes, len(outcomes)) + outcomes[::3]
    a, b = Rows.of(outcomes), Rows.of(twice)
    ra, rb = Resamples.draw(a, 200), Resamples.draw(b, 200)
    assert [ra.estimate(load(m), a) for m in METRICS] == [rb.estimate(load(m), b) for m in METRICS]


def width(estimate: Estimate) -> float:
    return estimate.interval[1] - estimate.interval[0]
