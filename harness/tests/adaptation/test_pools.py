"""Pools: the paper's counts, structures apart from every test set, and the development split."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.adaptation import pools
from harness.adaptation.pools import check_disjoint, in_development, sampled, split
from harness.adaptation.spec import arm_files, load_arm, load_pool
from harness.build import family
from harness.errors import AdapterError
from harness.spec import load_all

ROOT = Path(__file__).resolve().parents[3]
PAPER = ("ftA", "ftAc", "ftBm", "ftBmc", "ftB", "ftC", "ftD", "ftCc", "ftDc")


@pytest.fixture(scope="module")
def splits():
    return {name: split(load_arm(name, ROOT), ROOT, "option_letters") for name in ("ftA", "ftBm", "ftB", "ftC", "ftD")}


@pytest.mark.parametrize("arm,train,development", [
    ("ftA", 632, 80), ("ftB", 2956, 372), ("ftC", 3736, 456), ("ftD", 3696, 512),
])
def test_counts_are_those_of_the_paper(splits, arm, train, development):
    assert (len(splits[arm].train), len(splits[arm].development)) == (train, development)


def test_four_tables_have_4_7_times_the_requests_of_the_sample(splits):
    assert round(len(splits["ftB"].train) / 632, 1) == 4.7


def test_all_nine_arms_are_declared():
    assert set(PAPER) <= set(arm_files(ROOT))


def test_a_pool_shares_no_structure_with_a_test_set():
    tests = load_all(ROOT, ["metasurface-main", "metasurface-scope"])
    tested = set().union(*(family(s).structures for s in tests))
    used = set().union(*(pools.load(n, ROOT).structures for n in ("original", "answerable", "matched")))
    assert used & tested == set()


def test_an_overlap_is_an_error_that_names_the_structures():
    with pytest.raises(AdapterError, match="shares 1 structures with the test set 'metasurface-main': m-00002;"):
        check_disjoint("mine", {"m-00001", "m-00002"}, {"metasurface-main": {"m-00002", "m-00003"}})


def test_no_structure_serves_both_polarizations_of_a_pool():
    x, y = (f.structures for f in pools.load("original", ROOT).families)
    assert x & y == set()


def test_the_evidence_names_its_own_polarization(splits):
    named = {(r.key.spec[-1], r.text.split("-polarized")[0][-1]) for r in splits["ftC"].train}
    assert named == {("x", "x"), ("y", "y")}


def test_there_are_neither_plots_nor_specification_tasks(splits):
    asked = {(r.key.task, bool(r.images)) for r in (*splits["ftC"].train, *splits["ftD"].train)}
    assert asked == {(t, False) for t in ("extreme", "compare", "sufficiency", "scope")}


def test_energy_words_are_trained_on_energy_tables_alone(splits):
    views = {r.key.view for r in splits["ftB"].train if r.truth.facts.get("wording") == "energy"}
    assert views == {"table_ev"}


def test_the_answerable_pool_adds_answerable_truncations(splits):
    cut = [r for r in splits["ftC"].train if r.truth.facts.get("cut") == "outside"]
    assert {r.truth.expected == "undetermined" for r in cut} == {False}


@pytest.mark.parametrize("name,expected", [
    ("poold-x-compare-000", False),  # 512
    ("poold-x-compare-003", True),  # 85
    ("poold-x-extreme-000", True),  # 90
    ("poold-y-compare-000", True),  # 5
])
def test_the_development_split_is_a_hash_of_the_instance_id(name, expected):
    """SHA-256 modulo 1,000, computed apart from the harness, stands behind each id."""
    assert in_development(name) is expected


def test_all_requests_of_an_instance_fall_into_one_part(splits):
    train, development = ({r.key.instance for r in part} for part in (splits["ftD"].train, splits["ftD"].development))
    assert train & development == set()


def test_a_sample_is_drawn_without_replacement(splits):
    arm = load_arm("ftBm", ROOT)
    keys = [r.key for r in sampled(arm, splits["ftBm"].train, 1)]
    assert (len(keys), len(set(keys))) == (632, 632)


def test_seeds_draw_different_samples_and_each_its_own_again(splits):
    arm, train = load_arm("ftBm", ROOT), splits["ftBm"].train
    first, again, other = ([r.key for r in sampled(arm, train, s)] for s in (0, 0, 1))
    assert (first == again, first == other) == (True, False)


def test_an_empty_development_split_is_an_error(monkeypatch):
    monkeypatch.setattr(pools, "DEVELOPMENT", 0)
    with pytest.raises(AdapterError, match="the development split is empty: none of the 236 instances of original"):
        split(load_arm("ftA", ROOT), ROOT, "option_letters")


def test_the_number_of_instances_is_counted_for_each_polarization():
    pool = replace(load_pool("matched", ROOT), tasks={"extreme": 2})
    like = load_all(ROOT, ["metasurface-main"])[0]
    assert [t.prefix for t in pools.derive(like, pool, "x").tasks] == ["poola-x-extreme"]
