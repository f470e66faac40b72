from __future__ import annotations

import random

import pytest

from harness.errors import DataError
from harness.rows import Rows, unique
from harness.tests.validity.synthetic import row


def test_rows_are_the_same_whatever_order_the_outcomes_come_in():
    outcomes = [row(instance=f"i{i}", model=m) for i in range(5) for m in ("b", "a")]
    shuffled = random.Random(1).sample(outcomes, len(outcomes))
    assert Rows.of(shuffled).outcomes == Rows.of(outcomes).outcomes


def test_a_duplicated_outcome_counts_once():
    assert len(Rows.of([row(), row(), row(instance="i1")])) == 2


def test_the_last_reply_of_a_request_is_the_one_that_counts():
    assert [o.choice for o in unique([row(choice="A"), row(choice="B")])] == ["B"]


def test_a_later_provider_error_does_not_replace_a_reply():
    assert [o.status for o in unique([row(status="unparsed"), row(status="provider_error")])] == ["unparsed"]


def test_a_reply_replaces_a_lost_item():
    assert [o.status for o in unique([row(status="lost"), row(), row(status="lost")])] == ["usable"]


def test_dict_rows_and_outcomes_give_the_same():
    outcomes = [row(instance=f"i{i}") for i in range(3)]
    assert Rows.of([o.to_row() for o in outcomes]).outcomes == outcomes


def test_where_takes_a_value_or_several():
    rows = Rows.of([row(view=v) for v in ("table_nm", "table_ev", "plot_nm")])
    assert [
        len(rows.where(view="table_ev")),
        len(rows.where(view=["table_ev", "plot_nm"])),
        len(rows.where(view="x")),
    ] == [1, 2, 0]


def test_where_reaches_into_facts():
    rows = Rows.of([row(instance="i0", facts={"nodes": 5}), row(instance="i1")])
    assert [o.instance for o in rows.where({"facts.nodes": 5}).outcomes] == ["i0"]


def test_an_unknown_column_names_the_nearest_one():
    with pytest.raises(DataError, match="no column 'modalty'; did you mean 'modality'"):
        Rows.of([row()]).where(modalty="table")


def test_a_selection_finds_partners_outside_itself():
    rows = Rows.of(
        [row(view="table_nm", choice="A"), row(view="table_ev", choice="B"), row(view="plot_nm", instance="i1")]
    )
    found, partners = rows.where(view=["table_ev", "plot_nm"]).partners("view", "table_nm")
    assert (sorted(found), [o.choice for o in partners.outcomes]) == ([False, True], ["A"])


def test_unusable_rows_are_neither_correct_nor_abstained():
    rows = Rows.of([row(status="unparsed", correct=True, abstained=True)])
    assert (rows.correct.any(), rows.abstained.any()) == (False, False)


def test_the_unit_is_the_cluster_where_there_is_one_within_its_spec():
    rows = Rows.of(
        [
            row(instance="i0", cluster="film"),
            row(instance="i1", cluster="film"),
            row(instance="i2"),
            row(spec="t", cluster="film"),
        ]
    )
    assert rows.units == [("s", "film"), ("s", "i2"), ("t", "film")]


def test_split_gives_every_row_once():
    rows = Rows.of([row(instance=f"i{i}", view=v) for i in range(3) for v in ("table_nm", "plot_nm")])
    assert [(v, len(r)) for v, r in rows.split("view")] == [("plot_nm", 3), ("table_nm", 3)]


def test_a_union_holds_each_row_once():
    rows = Rows.of([row(instance=f"i{i}") for i in range(4)])
    both = rows.where(instance=["i0", "i1"]).union(rows.where(instance=["i1", "i3"]), rows.where(instance="none"))
    assert [o.instance for o in both.outcomes] == ["i0", "i1", "i3"]
