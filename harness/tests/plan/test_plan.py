from __future__ import annotations

import argparse

import numpy as np
import pytest
from scipy import stats

from harness.cli import plan as command
from harness.compare.power import needs, required
from harness.errors import DataError, RunError
from harness.tests.compare.test_compare import run_folder
from harness.tests.validity.synthetic import answered, oracle, right_with, row


def call(*words: str) -> int:
    parser = argparse.ArgumentParser()
    command.arguments(parser)
    return command.run(parser.parse_args(words))


def test_the_number_is_that_of_the_textbook():
    """Effect of half a standard deviation, 80 % power, two-sided 5 %: 34 (Cohen 1988, paired t test)."""
    assert required(20, 10) == 34


def test_half_the_effect_needs_about_four_times_as_many():
    assert required(20, 5) / required(20, 10) == pytest.approx(4, rel=0.1)


def test_so_many_instances_find_the_effect_as_often_as_promised():
    n, random = required(30, 12), np.random.default_rng(0)
    draws = 12 + 30 * random.standard_normal((4000, n))
    t = draws.mean(1) / (draws.std(1, ddof=1) / np.sqrt(n))
    assert np.mean(np.abs(t) > stats.t.ppf(0.975, n - 1)) == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("effect, power", [(0, 0.8), (-5, 0.8), (10, 1.0)])
def test_impossible_wishes_are_refused(effect, power):
    with pytest.raises(DataError, match="--"):
        required(20, effect, power)


def test_the_variance_is_that_between_instances_of_the_pilot():
    """All requests of an instance alike: SD is that of a coin with the pilot's share."""
    rows = [
        row(instance=f"i{i}", view=v, choice="AB"[i % 2])
        for i in range(40)
        for v in ("table_nm", "table_ev", "plot_nm")
    ]
    found = needs(rows, ["accuracy"], 10)[0]
    assert (found.pilot_n, found.value) == (40, 50.0)
    assert found.sd == pytest.approx(50, rel=0.05)


def test_a_pilot_of_four_clusters_is_too_small_however_many_instances_it_has():
    rows = [row(instance=f"i{c}-{k}", cluster=f"c{c}", choice="AB"[c % 2]) for c in range(4) for k in range(10)]
    with pytest.raises(DataError, match="the pilot has 4 clusters of instances; its variance needs 5 or more"):
        needs(rows, ["accuracy"], 10)


def test_without_variance_the_pilot_s_spread_is_what_its_clusters_cannot_exclude():
    """Six clusters of ten: 1 - 0.025^(1/6) = 45.9 % of them could differ, by 100 points each."""
    rows = [row(instance=f"i{c}-{k}", cluster=f"c{c}") for c in range(6) for k in range(10)]
    found = needs(rows, ["accuracy"], 10)[0]
    assert (found.flat, found.pilot_n) == (True, 60)
    assert found.sd == pytest.approx(100 * (1 - 0.025 ** (1 / 6)) * np.sqrt(60) / 1.96)


def test_more_views_of_the_same_instances_do_not_lower_the_need():
    def pilot(*views: str):
        return [row(instance=f"i{i}", view=v, choice="AB"[i % 2]) for i in range(40) for v in views]

    assert needs(pilot("table_nm"), ["accuracy"], 10)[0].instances == pytest.approx(
        needs(pilot("table_nm", "table_ev", "plot_nm"), ["accuracy"], 10)[0].instances, rel=0.1
    )


def test_two_models_are_also_planned_as_a_paired_difference():
    found = needs(answered(oracle, n=8) + answered(right_with(0.5), n=8, model="x"), ["accuracy"], 10)
    assert [n.what for n in found] == ["m", "x", "x - m"]


def test_a_pilot_without_variance_is_marked_and_asks_for_what_it_cannot_exclude():
    found = needs(answered(oracle, n=8), ["accuracy"], 10)[0]
    assert found.flat
    assert found.instances > 2


def test_a_tiny_pilot_is_refused():
    with pytest.raises(DataError, match="the pilot has 1 instances"):
        needs([row()], ["accuracy"], 10)


def test_the_command_answers_for_a_suite_with_a_pilot(tmp_path, capsys):
    rows = [
        row(spec="gold-main", instance=f"i{i}", view=v, choice="AB"[i % 3 == 0])
        for i in range(12)
        for v in ("table_nm", "table_ev")
    ]
    run_folder(tmp_path / "p", rows)
    assert call("gold-main", "--pilot", "p", "--reports", str(tmp_path), "--effect", "10", "--metric", "accuracy") == 0
    said = capsys.readouterr().out
    assert "54 instances declared, 1,048 requests a model" in said
    assert "accuracy" in said


def test_without_a_pilot_the_largest_variance_stands_in(capsys):
    assert call("gold-main") == 0
    assert "199 instances find 10 points" in capsys.readouterr().out


def test_a_pilot_of_another_suite_is_refused(tmp_path):
    run_folder(tmp_path / "p", [row()])
    with pytest.raises(RunError, match="holds no request of 'gold-main'"):
        call("gold-main", "--pilot", "p", "--reports", str(tmp_path))
