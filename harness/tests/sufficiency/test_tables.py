"""The tables: one line a cell, how many were dropped, n/a where there is no loop detector, medians over cells."""

from __future__ import annotations

from typing import Any

from harness.bootstrap import Resamples
from harness.outcome import Outcome, Table
from harness.rows import Rows
from harness.tables.grid import builder
from harness.tests.sufficiency.arms import item, outcome
from harness.tests.sufficiency.test_metrics import ANNOTATED, FILMS, KNOWN, SIX


def made(name: str, outcomes: list[Outcome]) -> Table | None:
    rows = Rows.of(outcomes)
    return builder(name)(rows, Resamples.draw(rows, 40))


def cell(name: str, outcomes: list[Outcome], column: str, **where: str) -> Any:
    table = made(name, outcomes)
    assert table is not None
    at = {c: i for i, c in enumerate(table.columns)}
    (row,) = [r for r in table.rows if all(r[at[k]] == v for k, v in where.items())]
    found = row[at[column]]
    return getattr(found, "value", found)


def test_a_cell_says_how_many_items_it_scored_and_dropped() -> None:
    assert (5, 1) == tuple(cell("attribution", SIX, c, attribution="either suffices") for c in ("scored", "dropped"))
    assert (6, 0) == tuple(cell("prospective", SIX, c, given="image") for c in ("scored", "dropped"))
    assert (5, 1) == tuple(cell("prospective_wirings", SIX, c, given="image") for c in ("scored", "dropped"))


def test_dropped_rows_of_a_film_count_for_each_of_its_plots() -> None:
    lost = [o for o in FILMS if (o.view, o.template, o.instance) != ("both", "plain", "f1-p0")]
    assert (3, 1) == tuple(cell("prospective", lost, c, given="image") for c in ("scored", "dropped"))


def test_the_attributions_of_a_cell_sum_to_100() -> None:
    table = made("attribution", SIX)
    assert table is not None
    assert 100.0 == sum(r[3].value for r in table.rows)


def test_the_summary_holds_medians_over_cells_and_the_median_of_gaps() -> None:
    two = [*SIX, *(o for o in item("1", "AAA", "AAA", "AA", model="n"))]
    assert 4 == cell("prospective_summary", two, "cells")
    assert 0.0 == cell("prospective_summary", two, "executed, least")
    assert 0.0 == cell("prospective_summary", two, "median gap, points")
    assert 1 == cell("prospective_summary", two, "cells with executed > predicted")


def test_every_rate_has_its_chance_level_beside_it() -> None:
    for name, column in (("prospective", "claim by chance"), ("sufficiency_flag", "precision by chance")):
        assert cell(name, SIX, column, given="text") is not None
    assert cell("attribution_agreement", SIX, "by chance") is not None


LOSSES = [
    outcome("1", "text", "assessment", None, missing=["sufficiency"], near_misses=["bare_value"],
            notes={"near_miss_by_field": {"sufficiency": "bare_value"}}),
    outcome("2", "text", "assessment", None, missing=["answer", "both"]),
    outcome("3", "text", "assessment", None, status="truncated"),
    outcome("4", "text", "assessment", None, status="provider_error"),
    outcome("5", "text", "assessment", "A", {"both": "A", "sufficiency": "SUFFICIENT"}),
]


def test_losses_partition_the_attempted_rows() -> None:
    shares = [
        cell("row_losses", LOSSES, c)
        for c in ("truncated", "error", "unparsed answer", "unparsed self-report", "usable")
    ]
    assert [20.0] * 5 == shares
    assert "n/a" == cell("row_losses", LOSSES, "repetition")
    assert 100 * 2 / 3 == cell("row_losses", LOSSES, "parse failures, % of completed")


def test_repetition_is_a_number_where_the_server_has_a_detector() -> None:
    assert 0.0 == cell("row_losses", [outcome("1", "text", "plain", "A", provider="vllm, loop detector")], "repetition")
    assert 100.0 == cell("row_losses", [outcome("1", "text", "plain", None, status="repetition")], "repetition")


def test_near_misses_are_counted_by_field_and_kind() -> None:
    assert 1 == cell("near_misses", LOSSES, "rows", field="sufficiency", kind="bare_value")
    assert 1 == cell("near_misses", LOSSES, "rows", field="answer", kind="absent")


def test_a_text_only_model_has_performance_and_losses_but_no_comparisons() -> None:
    texts = [o for o in SIX if o.view == "text"]
    assert made("prospective", texts) is None
    assert made("attribution", texts) is None
    assert made("task_performance", texts) is not None
    assert made("usable_rows", texts) is not None


def test_the_noise_floor_needs_repeats() -> None:
    assert made("noise_floor", SIX) is None
    again = [*SIX, *item("1", "AAA", "AAA", "AA", repeat=1), *item("2", "AAA", "AAB", "AA", "SI", "AA", repeat=1)]
    assert 50.0 == cell("noise_floor", again, "answers that change, %", view="image", template="plain")


def test_alignment_counts_what_was_included_of_what_was_annotated() -> None:
    assert "5/5" == cell("alignment", ANNOTATED, "included")
    assert made("alignment", SIX) is None


def test_known_sufficiency_is_split_by_regime() -> None:
    assert 33.3 == round(cell("known_sufficiency", KNOWN, "overclaimed", given="text"), 1)


def test_rows_of_other_suites_enter_no_table_of_this_one() -> None:
    plain = outcome("1", "text", "plain", "A")
    plain.facts.clear()
    assert made("task_performance", [plain]) is None
