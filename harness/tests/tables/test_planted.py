"""Every table shows an effect that was planted, within the reach of its interval."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from harness.bootstrap import Resamples
from harness.errors import KeyLookupError
from harness.outcome import Estimate, Table
from harness.rows import Rows
from harness.tables import TABLES
from harness.tables.grid import build, builder
from harness.tests.validity.synthetic import VIEWS, Question, answered, oracle, right_with, row, with_confidence

TABLE_VIEWS = tuple(v for v in VIEWS if v.startswith("table"))
OPTICS = (
    "accuracy_by_modality",
    "accuracy_by_task",
    "paired_difference",
    "agreement",
    "compare_by_view",
    "position_preference",
    "wording",
    "row_order",
    "scope",
    "scope_by_view",
    "middle_gap_abstention",
    "shortcuts",
    "high_confidence_errors",
    "calibration",
    "reproducibility",
    "flips",
    "attrition",
    "cost",
)


def table(name: str, outcomes, n: int = 1000) -> Table | None:
    rows = Rows.of(outcomes)
    return builder(name)(rows, Resamples.draw(rows, n))


def cell(found: Table, column: str, **names) -> Estimate:
    """The estimate of the one line whose text columns are as named."""
    lines = [
        line
        for line in found.rows
        if all(line[found.columns.index(c.replace("_", " "))] == v for c, v in names.items())
    ]
    assert len(lines) == 1, f"{names}: {len(lines)} lines of {found.rows}"
    return lines[0][found.columns.index(column)]


def holds(estimate: Estimate, planted: float) -> bool:
    """Within the interval, widened to about three standard errors: one of 95 % would fail one test in twenty."""
    low, high = estimate.interval
    return abs(planted - (low + high) / 2) <= 1.5 * (high - low) / 2


def test_accuracy_by_modality_shows_what_was_planted():
    made = table("accuracy_by_modality", answered(right_with(lambda q: 0.8 if "table" in q.view else 0.4)))
    assert (holds(cell(made, "tables", model="m"), 80), holds(cell(made, "plots", model="m"), 40)) == (True, True)


def test_accuracy_by_task_shows_what_was_planted():
    planted = {"compare": 0.5, "extreme": 0.9, "specification": 0.3, "sufficiency": 0.7}
    made = table("accuracy_by_task", answered(right_with(lambda q: planted[q.task]), seed=4))
    assert [holds(cell(made, "tables", task=t), 100 * p) for t, p in planted.items()] == [True] * 4


def test_paired_difference_shows_the_loss_of_one_view_only():
    made = table("paired_difference", answered(right_with(lambda q: 0.5 if q.view == "table_ev" else 0.9), seed=1))
    assert (holds(cell(made, "table_ev"), -40), holds(cell(made, "table_um"), 0)) == (True, True)


def test_compare_by_view_shows_a_reversed_direction_below_chance():
    made = table("compare_by_view", answered(right_with(lambda q: 0.25 if q.energy_axis else 0.95)))
    assert (holds(cell(made, "table_ev"), 25), holds(cell(made, "table_nm"), 95)) == (True, True)


def test_agreement_of_independent_errors_is_what_independence_predicts():
    made = table("agreement", answered(right_with(0.8), seed=3))
    expected, found = cell(made, "indep."), cell(made, "correct")
    assert (holds(found, 100 * 0.8**6), holds(expected, 100 * 0.8**6)) == (True, True)


def test_agreement_of_a_consistently_wrong_model_is_all_wrong():
    def stubborn(q: Question, random: np.random.Generator) -> str:
        return q.wrong[0]

    made = table("agreement", answered(stubborn))
    assert (cell(made, "all views (6)").value, cell(made, "wrong").value, cell(made, "correct").value) == (100, 100, 0)


def test_position_preference_shows_the_planted_share_of_first_choices():
    made = table("position_preference", answered(lambda q, r: "A" if q.first and r.random() < 0.82 else "B", seed=2))
    assert holds(cell(made, "tables"), 82)


def test_wording_shows_a_gain_from_energy_words():
    made = table("wording", answered(right_with(lambda q: 0.9 if q.wording == "energy" else 0.4)))
    assert (
        holds(cell(made, "difference, points", view="table_ev"), 50),
        holds(cell(made, "wavelength wording, %", view="plot_ev"), 40),
    ) == (True, True)


def test_row_order_shows_gains_and_losses():
    views = (*TABLE_VIEWS, "table_ev_desc")

    def chance(q: Question) -> float:
        if q.task != "compare":
            return 0.9 if q.view == "table_ev_desc" else 0.1
        return 0.6 if (q.view == "table_ev_desc") == (q.wording == "energy") else 0.9

    made = table("row_order", answered(right_with(chance), views=views, seed=5))
    column = "difference, points"
    assert [
        holds(cell(made, column, quantity=f"compare accuracy, {w} wording, %"), p)
        for w, p in (("wavelength", 30), ("energy", -30))
    ] == [True, True]
    assert holds(cell(made, column, quantity="middle-gap abstention, %"), 80)


def test_row_order_shows_lost_scope_discrimination():
    def answer(q: Question, random: np.random.Generator) -> str:
        return "b0" if q.view == "table_ev_desc" and q.cut == "inside" else q.expected

    made = table("row_order", answered(answer, views=("table_ev", "table_ev_desc"), scope=True))
    assert cell(made, "difference, points", quantity="D_scope, points").value == -100


def test_scope_unmasks_a_model_that_abstains_on_any_truncation():
    def shortcut(q: Question, random: np.random.Generator) -> str:
        return "undetermined" if q.cut in ("inside", "outside") else q.expected

    made = table("scope", answered(shortcut, scope=True))
    found = [cell(made, c, modality="table").value for c in ("full, %", "D_scope, points", "Delta_out, points")]
    assert found == [100, 0, -100]


def test_scope_of_a_partial_discrimination_is_inside_its_interval():
    made = table("scope", answered(right_with(lambda q: 0.7 if q.cut == "inside" else 1.0), scope=True, n=54, seed=7))
    assert holds(cell(made, "D_scope, points", modality="plot"), 70)


def test_middle_gaps_show_the_share_of_abstention_in_each_view():
    made = table(
        "middle_gap_abstention", answered(lambda q, r: q.expected if q.deletion != "middle" or "nm" in q.view else "b0")
    )
    assert (cell(made, "table_nm").value, cell(made, "table_ev").value, cell(made, "table_ev").n_instances) == (
        100,
        0,
        16,
    )


def test_shortcuts_show_visible_extrema_and_deep_candidates_outside_the_window():
    def tempted(q: Question, random: np.random.Generator) -> str:
        return q.decoy if q.decoy and random.random() < 0.6 else q.expected

    made = table("shortcuts", answered(tempted, seed=1))
    assert (holds(cell(made, "visible extremum"), 60), cell(made, "deep but outside the window").value) == (True, 100)


def test_high_confidence_errors_show_the_planted_share_by_kind_of_probability():
    sure = with_confidence(answered(right_with(0.7), seed=3), lambda o: 0.95)
    modest = with_confidence(answered(right_with(0.7), model="n"), lambda o: 0.6, "self-reported")
    made = table("high_confidence_errors", sure + modest)
    assert holds(cell(made, "all", model="m", probabilities="readout"), 30)
    assert cell(made, "all", model="n", probabilities="self-reported").value == 0


def test_kinds_of_probability_of_one_model_stand_on_lines_of_their_own():
    both = [
        replace(o, probability_kind="self-reported", readout="json_choice", repeat=1, key=f"{o.key}#1")
        for o in with_confidence(answered(right_with(0.5)), lambda o: 0.9)
    ]
    made = table("high_confidence_errors", with_confidence(answered(oracle), lambda o: 0.9) + both)
    assert cell(made, "all", probabilities="readout").value == 0
    assert cell(made, "all", probabilities="self-reported").value > 30


def test_calibration_of_an_overconfident_model_shows_the_gap():
    made = table("calibration", with_confidence(answered(right_with(0.7)), lambda o: 0.95))
    assert holds(cell(made, "calibration error, points"), 25)


def test_reproducibility_shows_the_planted_share_of_equal_choices():
    # two independent draws at p = 0.9 over two options: 0.9^2 + 0.1^2 = 0.82 in compare
    made = table("reproducibility", [o for o in answered(right_with(0.9), repeats=2) if o.task == "compare"])
    assert holds(cell(made, "same choice", repeat=1), 82)


def test_flips_show_the_view_that_changes_choices():
    made = table("flips", answered(lambda q, r: q.wrong[0] if q.view == "plot_ev" else q.expected))
    assert (cell(made, "plot_ev").value, cell(made, "table_um").value) == (100, 0)


def test_attrition_partitions_each_cell_and_lists_only_those_that_lost_requests():
    made = table(
        "attrition", answered(lambda q, r: None if q.view == "plot_ev" and q.task == "extreme" else q.expected)
    )
    total, broken = made.rows
    names = ("repetition", "truncated", "provider_error", "unparsed", "usable")
    counts = [broken[made.columns.index(n)] for n in names]
    assert (broken[3:5], counts, total[made.columns.index("usable")]) == (
        ("extreme", "plot_ev"),
        [0, 0, 0, 96, 0],
        3456,
    )


def test_cost_sums_tokens_and_warns_when_the_server_changed_in_mid_run():
    outcomes = [
        row(instance=f"i{i}", tokens_in=100, cost_usd=0.001, latency_s=float(i), served_model=f"v{i // 8}", tries=1)
        for i in range(11)
    ]
    made = table("cost", outcomes)
    line = dict(zip(made.columns, made.rows[0], strict=True))
    assert (line["tokens in"], line["cost, USD"], line["latency median, s"], line["latency p95, s"], line["tries"]) == (
        1100,
        pytest.approx(0.011),
        5.0,
        9.5,
        11,
    )
    assert "answered by more than one served model (v0 8, v1 3)" in made.note


def test_models_stand_side_by_side_with_their_numbers():
    made = table("accuracy_by_modality", answered(oracle) + answered(right_with(0.3), model="weak"))
    assert [(line[2], line[-2], line[-1]) for line in made.rows] == [("m", 192, 3168), ("weak", 192, 3168)]


def test_a_text_only_model_has_no_value_for_plots():
    made = table("accuracy_by_modality", answered(oracle) + answered(oracle, model="text", views=TABLE_VIEWS))
    assert cell(made, "plots", model="text") == Estimate(None, None, 0, 0, "%")


def test_tables_without_data_are_left_out():
    rows = Rows.of([row(task="extreme")])
    assert [t.name for t in build(rows, Resamples.draw(rows, 10))] == [
        "accuracy_by_modality",
        "accuracy_by_task",
        "attrition",
    ]


def test_no_outcomes_at_all_give_no_tables():
    rows = Rows.of([])
    assert build(rows, Resamples.draw(rows, 10)) == ()


def test_an_unknown_table_names_the_nearest_one():
    with pytest.raises(KeyLookupError, match="'agrement' is not a table; did you mean 'agreement'"):
        builder("agrement")


def test_every_table_of_a_full_run_is_named_after_its_builder_and_has_lines_as_long_as_its_columns():
    outcomes = with_confidence(
        answered(right_with(0.7), views=(*VIEWS, "table_ev_desc"), n=6, repeats=2), lambda o: 0.9
    )
    outcomes += answered(right_with(0.7), scope=True, spec="scope", n=6)
    rows = Rows.of([replace(o, latency_s=1.0) for o in outcomes])
    made = build(rows, Resamples.draw(rows, 50))
    names = [t.name for t in made]
    assert (set(OPTICS) <= set(names), names) == (True, [name for name in TABLES if name in names])
    assert all(len(line) == len(t.columns) for t in made for line in t.rows)
