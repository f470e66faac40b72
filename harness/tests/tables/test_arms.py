"""Adapters beside their base: one line a seed, and the reversed rule by hand."""

from __future__ import annotations

import pytest

from harness.bootstrap import Resamples, point
from harness.metrics.metric import load
from harness.rows import Rows
from harness.tables.arms import adapters, arm_seeds, parts
from harness.tests.validity.synthetic import row


@pytest.mark.parametrize("model,expected", [
    ("pico", ("pico", "", "")),
    ("pico+cpu-ftC/0", ("pico", "cpu-ftC", "0")),
    ("qwen3.5-2b+ftBmc/12", ("qwen3.5-2b", "ftBmc", "12")),
])
def test_a_model_s_name_tells_base_arm_and_seed(model, expected):
    assert parts(model) == expected


MODELS = ("pico", "oracle", "pico+ftC/0", "pico+ftC/1")
OUTCOMES = [row(model=m, instance=f"i{i}", task="compare", choice="A" if m != "pico" or i else "B", expected="A")
            for m in MODELS for i in range(4)]


def test_adapters_stand_with_their_base_and_without_other_models():
    assert adapters(Rows.of(OUTCOMES)) == ["pico", "pico+ftC/0", "pico+ftC/1"]


def test_every_seed_has_its_own_line():
    rows = Rows.of(OUTCOMES)
    table = arm_seeds(rows, Resamples.draw(rows, 100))
    compare = table.columns.index("compare, tables")
    assert [(r[2], r[3], r[compare].value) for r in table.rows] == [
        ("none", "", 75.0), ("ftC", "0", 100.0), ("ftC", "1", 100.0)]


def test_without_adapters_there_is_no_table():
    rows = Rows.of([row(model="pico")])
    assert arm_seeds(rows, Resamples.draw(rows, 10)) is None


def test_the_reversed_rule_is_counted_where_it_answers_otherwise():
    """Of three requests on which the rules differ, one choice is the reversed rule's; a fourth cannot tell."""
    outcomes = [
        row(instance="i0", expected="longer", choice="longer", facts={"reversed": "shorter"}),
        row(instance="i1", expected="longer", choice="shorter", facts={"reversed": "shorter"}),
        row(instance="i2", expected="longer", choice="longer", facts={"reversed": "shorter"}),
        row(instance="i3", expected="longer", choice="longer", facts={"reversed": "longer"}),
        row(instance="i4", expected="longer", choice="shorter", facts={}),
    ]
    metric = load("reversed_rule")
    assert point(metric, metric.select(Rows.of(outcomes))) == pytest.approx(100 / 3)
