"""Every metric against an example small enough to work out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from harness.bootstrap import point
from harness.errors import DataError, KeyLookupError
from harness.metrics import METRICS
from harness.metrics.metric import load
from harness.rows import Rows
from harness.tests.validity.synthetic import row


def value(name, outcomes, **where):
    metric = load(name)
    return point(metric, metric.select(Rows.of(outcomes).where(where)))


def weighted(name, outcomes, counts):
    """The metric with each instance counted so often; ``counts`` in the order of the instances' names."""
    return float(load(name)(Rows.of(outcomes), np.array([counts], float))[0])


# 8 requests: 4 right, 2 wrong, 1 unparsed, 1 provider error; and 1 lost
STATUSES = [
    row(instance="i0"),
    row(instance="i1"),
    row(instance="i2"),
    row(instance="i3"),
    row(instance="i4", choice="B"),
    row(instance="i5", choice="B"),
    row(instance="i6", status="unparsed"),
    row(instance="i7", status="provider_error"),
    row(instance="i8", status="lost"),
]


@pytest.mark.parametrize(
    "name, expected",
    [
        ("accuracy", 50.0),  # 4 of 8 attempted
        ("core_accuracy", 50.0),
        ("accuracy_usable", 400 / 6),  # 4 of 6 usable
        ("attrition", 25.0),  # 2 of 8
        ("unparsed_share", 12.5),
        ("provider_error_share", 12.5),
        ("usable_share", 75.0),
        ("truncated_share", 0.0),
        ("repetition_share", 0.0),
    ],
)
def test_rates_over_attempted_rows(name, expected):
    assert value(name, STATUSES) == pytest.approx(expected)


def test_the_statuses_partition_the_attempted_rows():
    shares = ("repetition_share", "truncated_share", "provider_error_share", "unparsed_share", "usable_share")
    assert sum(value(name, STATUSES) for name in shares) == pytest.approx(100.0)


def test_core_accuracy_leaves_out_energy_worded_probes_and_control_views():
    outcomes = [row(), row(instance="i1", core=False, choice="B"), row(instance="i2", view="table_ev_desc", choice="B")]
    assert value("core_accuracy", outcomes) == 100.0


def test_accuracy_counts_an_instance_as_often_as_it_was_drawn():
    # i0 right twice drawn, i1 wrong once: 2 / 3
    assert weighted("accuracy", [row(), row(instance="i1", choice="B")], [2, 1]) == pytest.approx(200 / 3)


def test_accuracy_of_a_resample_without_the_cell_is_nan():
    outcomes = [row(), row(instance="i1", view="plot_nm")]
    rows = Rows.of(outcomes).where(view="plot_nm")
    assert np.isnan(load("accuracy")(rows, np.array([[2.0, 0.0]]))).all()


# nm: right right wrong right; ev: wrong right right (i3 has no eV view); i4 has no nm view
PAIRS = [
    row(instance="i0"),
    row(instance="i1"),
    row(instance="i2", choice="B"),
    row(instance="i3"),
    row(instance="i0", view="table_ev", choice="B"),
    row(instance="i1", view="table_ev"),
    row(instance="i2", view="table_ev"),
    row(instance="i4", view="table_ev"),
]


def test_paired_difference_uses_only_variants_that_have_both_views():
    # pairs i0: 0 - 1, i1: 1 - 1, i2: 1 - 0 -> mean 0
    assert value("paired_difference", PAIRS, view="table_ev") == 0.0


def test_paired_difference_of_a_resample_stays_paired():
    # i0 three times, i1 once: (3 x -1 + 0) / 4 = -75 points
    rows = Rows.of(PAIRS).where(view="table_ev")
    assert load("paired_difference")(rows, np.array([[3.0, 1, 0, 0, 0]]))[0] == -75.0


def test_paired_difference_from_another_reference():
    # nm less eV on the same three pairs, i0: +1, i1: 0, i2: -1; i2 left out by the filter on instance: +50
    assert value("paired_difference[view=table_ev]", PAIRS, view="table_nm", instance=["i0", "i1"]) == 50.0


def test_paired_difference_counts_an_unreadable_reply_as_not_correct():
    assert value("paired_difference", [row(), row(view="table_ev", status="truncated")], view="table_ev") == -100.0


def test_an_arm_that_was_not_run_has_no_paired_difference():
    assert value("paired_difference", [row(), row(instance="i1")]) is None


def test_flip_rate_counts_different_wrong_answers_as_a_flip_and_equal_ones_not():
    # i0: B, C (both wrong): flip; i1: B, B: none; i2: A, unparsed: no pair -> 1 of 2
    outcomes = [
        row(instance="i0", choice="B"),
        row(instance="i0", view="table_ev", choice="C"),
        row(instance="i1", choice="B"),
        row(instance="i1", view="table_ev", choice="B"),
        row(instance="i2"),
        row(instance="i2", view="table_ev", status="unparsed"),
    ]
    assert value("flip_rate", outcomes, view="table_ev") == 50.0


def test_flip_rate_between_variants_names_the_reference_variant():
    outcomes = [
        row(variant="orig"),
        row(variant="swap", choice="B"),
        row(instance="i1", variant="orig"),
        row(instance="i1", variant="swap"),
    ]
    assert value("flip_rate[variant=orig]", outcomes) == 50.0


def test_reproducibility_needs_two_readable_equal_choices():
    # i0 same, i1 differs, i2 both unparsed (not reproduced), i3 asked once only -> 1 of 3
    outcomes = [
        row(instance="i0"),
        row(instance="i0", repeat=1),
        row(instance="i1"),
        row(instance="i1", repeat=1, choice="B"),
        row(instance="i2", status="unparsed"),
        row(instance="i2", repeat=1, status="unparsed"),
        row(instance="i3"),
    ]
    assert value("reproducibility", outcomes) == pytest.approx(100 / 3)


def test_paired_abstention_difference():
    # i0: abstains on eV only (+1), i1: on both (0) -> +50
    gone = "undetermined"
    outcomes = [
        row(),
        row(view="table_ev", choice=gone),
        row(instance="i1", choice=gone),
        row(instance="i1", view="table_ev", choice=gone),
    ]
    assert value("paired_abstention_difference", outcomes, view="table_ev") == 50.0


def test_row_order_effects_compare_descending_with_ascending_energy():
    # i0 -1, i1 0 -> -50; the nm view plays no part
    outcomes = [
        row(view="table_ev"),
        row(view="table_ev_desc", choice="B"),
        row(instance="i1", view="table_ev"),
        row(instance="i1", view="table_ev_desc"),
        row(instance="i1", view="table_nm", choice="B"),
    ]
    assert value("row_order_effect", outcomes) == -50.0


def test_row_order_effect_on_middle_gaps():
    gap = {"cut": "inside", "deletion": "middle", "expected": "undetermined"}
    outcomes = [row(view="table_ev", choice="b1", **gap), row(view="table_ev_desc", choice="undetermined", **gap)]
    assert value("row_order_gap_effect", outcomes) == 100.0


# three variants in three views: v0 all A (right), v1 all B (wrong), v2 A A B
AGREEMENT = [
    row(variant=v, view=view, choice=choice)
    for v, choices in (("v0", "AAA"), ("v1", "BBB"), ("v2", "AAB"))
    for view, choice in zip(("table_nm", "table_ev", "plot_nm"), choices, strict=True)
]


@pytest.mark.parametrize(
    "name, expected",
    [
        ("agreement_tables", 100.0),  # all three agree on the two tables
        ("agreement_all", 200 / 3),  # v0 and v1
        ("consistent_wrong", 100 / 3),  # v1
        ("all_correct", 100 / 3),  # v0
        ("all_correct_independent", 400 / 27),  # 2/3 x 2/3 x 1/3
    ],
)
def test_agreement(name, expected):
    assert value(name, AGREEMENT) == pytest.approx(expected)


def test_independence_is_expected_within_each_task_type():
    # t1: one variant, both views right: 1. t2: one variant, one view right: 1 x 0. Mean 1/2
    outcomes = [
        row(task="t1"),
        row(task="t1", view="table_ev"),
        row(task="t2"),
        row(task="t2", view="table_ev", choice="B"),
    ]
    assert value("all_correct_independent", outcomes) == 50.0


def test_two_unreadable_replies_do_not_agree():
    assert value("agreement_all", [row(status="unparsed"), row(view="table_ev", status="unparsed")]) == 0.0


def test_a_text_only_model_next_to_a_multimodal_one_has_no_agreement_over_all_views():
    outcomes = [
        *AGREEMENT,
        *(row(variant=o.variant, view=o.view, model="text") for o in AGREEMENT if "table" in o.view),
    ]
    assert (value("agreement_all", outcomes, model="text"), value("agreement_tables", outcomes, model="text")) == (
        None,
        100,
    )


def test_a_variant_that_lacks_a_view_does_not_enter_agreement():
    assert value("agreement_all", [*AGREEMENT, row(variant="v3", choice="B")]) == pytest.approx(200 / 3)


def test_wording_effect_needs_both_wordings_of_an_instance():
    # i0 on eV: wavelength right, wrong (1/2); energy right, right (1) -> +50; i1 has one wording only
    outcomes = [
        row(view="table_ev", variant=f"{w}-{k}", wording=w, core=w == "wavelength", choice=c)
        for w, k, c in (("wavelength", 0, "A"), ("wavelength", 1, "B"), ("energy", 0, "A"), ("energy", 1, "A"))
    ]
    outcomes.append(row(instance="i1", view="table_ev", wording="wavelength", choice="B"))
    assert value("wording_effect", outcomes) == 50.0


def scope(instance, full, outside, inside, view="table_nm"):
    """The three cuts of one question whose answer is b0."""
    return [
        row(
            task="scope",
            instance=instance,
            variant=cut,
            cut=cut,
            view=view,
            choice=choice,
            expected="undetermined" if cut == "inside" else "b0",
        )
        for cut, choice in (("full", full), ("outside", outside), ("inside", inside))
    ]


# i0 ideal; i1 abstains on any cut; i2 never abstains and is right where it can be
SCOPE = [
    *scope("i0", "b0", "b0", "undetermined"),
    *scope("i1", "b0", "undetermined", "undetermined"),
    *scope("i2", "b0", "b0", "b1"),
]


@pytest.mark.parametrize(
    "name, expected",
    [
        ("scope_full", 100.0),
        ("d_scope", 100 / 3),  # U_in 2/3 - U_out 1/3
        ("delta_out", -100 / 3),  # A_out 2/3 - A_full 1
    ],
)
def test_scope(name, expected):
    assert value(name, SCOPE) == pytest.approx(expected)


@pytest.mark.parametrize("answer", ["undetermined", "b0"])
def test_always_and_never_abstaining_do_not_discriminate(answer):
    assert value("d_scope", scope("i0", answer, answer, answer)) == 0.0


def test_full_views_of_the_main_sufficiency_task_are_no_scope_questions():
    main = [row(task="sufficiency", cut="full", variant="full"), row(task="sufficiency", cut="inside", variant="cut")]
    assert (value("scope_full", main), value("d_scope", main), value("delta_out", main)) == (None, None, None)


def test_row_order_effect_on_scope_discrimination():
    # ascending: U_in 1, U_out 0 -> +100; descending: 0 - 0 -> 0
    outcomes = [*scope("i0", "b0", "b0", "undetermined", "table_ev"), *scope("i0", "b0", "b0", "b0", "table_ev_desc")]
    assert value("row_order_scope_effect", outcomes) == -100.0


CONFIDENT = [
    row(instance="i0", choice="B", confidence=0.95, probabilities={"A": 0.05, "B": 0.95}, probability_kind="readout"),
    row(instance="i1", choice="B", confidence=0.80, probabilities={"A": 0.20, "B": 0.80}, probability_kind="readout"),
    row(instance="i2", choice="A", confidence=0.90, probabilities={"A": 0.90, "B": 0.10}, probability_kind="readout"),
    row(instance="i3", status="unparsed"),
    row(instance="i4", choice="B"),  # came without probabilities
]


def test_high_confidence_errors_are_a_fraction_of_all_requests_with_known_confidence():
    # i0 of i0, i1, i2 and the unparsed i3; i4 is unavailable
    assert value("high_confidence_errors", CONFIDENT) == 25.0


def test_a_probability_of_exactly_nine_tenths_is_high():
    wrong = row(choice="B", confidence=0.9, probabilities={"B": 0.9}, probability_kind="readout")
    assert value("high_confidence_errors", [wrong]) == 100.0


def test_a_wrong_choice_is_a_high_confidence_error_whichever_option_the_high_probability_is_on():
    """The paper's max over k of p(k), with replies that state one choice and favour another."""
    elsewhere = {"choice": "B", "confidence": 0.05, "probabilities": {"A": 0.95, "B": 0.05}}
    unlisted = {"choice": "B", "confidence": None, "probabilities": {"A": 0.6, "C": 0.4}}
    outcomes = [row(instance=f"i{i}", probability_kind="self-reported", **given)
                for i, given in enumerate((elsewhere, unlisted))]
    assert value("high_confidence_errors", outcomes) == 50.0


def test_a_model_without_probabilities_has_no_confidence_metrics():
    assert [
        value(m, [row(choice="B")]) for m in ("high_confidence_errors", "brier", "calibration_error", "label_mass")
    ] == [None] * 4


def test_kinds_of_probability_are_never_pooled():
    with pytest.raises(DataError, match="mix readout and self-reported"):
        value(
            "high_confidence_errors", [*CONFIDENT, row(instance="i5", confidence=1.0, probability_kind="self-reported")]
        )


def test_brier():
    # i0: 0.95^2 + 0.95^2 = 1.805; i1: 0.8^2 + 0.8^2 = 1.28; i2: 0.1^2 + 0.1^2 = 0.02; mean 1.035
    assert value("brier", CONFIDENT) == pytest.approx(1.035)


def test_brier_charges_a_right_answer_that_got_no_probability():
    assert value("brier", [row(choice="B", probabilities={"B": 1.0}, probability_kind="readout")]) == 2.0


def test_calibration_error():
    # bin 0.9-1: i0, i2: |1 - 1.85| = 0.85; bin 0.8-0.9: i1: |0 - 0.8| = 0.8; (0.85 + 0.8) / 3 = 55 points
    assert value("calibration_error", CONFIDENT) == pytest.approx(55.0)


def test_label_mass():
    assert value(
        "label_mass", [row(label_mass=0.9), row(instance="i1", label_mass=1.0), row(instance="i2")]
    ) == pytest.approx(95.0)


def test_position_preference_is_over_readable_core_comparisons():
    # chosen first: i0, i1, i2 of i0-i3; i4 unparsed, i5 not core, i6 has no first
    outcomes = [row(instance=f"i{k}", first="A", choice=c) for k, c in enumerate("AAAB")]
    outcomes += [
        row(instance="i4", first="A", status="unparsed"),
        row(instance="i5", first="A", choice="B", core=False),
        row(instance="i6", choice="B"),
    ]
    assert value("position_preference", outcomes) == 75.0


# middle gaps: abstained, not, unparsed; one long-side cut
CUTS = [
    row(instance="i0", cut="inside", deletion="middle", choice="undetermined", decoy="b1"),
    row(instance="i1", cut="inside", deletion="middle", choice="b1", decoy="b1"),
    row(instance="i2", cut="inside", deletion="middle", status="unparsed", decoy="b1"),
    row(instance="i3", cut="inside", deletion="long", choice="b1", decoy="b1"),
    row(instance="i4", cut="full", deletion="long", choice="b1", decoy=""),
]


@pytest.mark.parametrize(
    "name, expected",
    [
        ("middle_gap_abstention", 100 / 3),  # i0 of i0, i1, i2
        ("visible_extremum_share", 200 / 3),  # i1, i3 of the readable i0, i1, i3
        ("abstention_rate", 20.0),  # i0 of all five
    ],
)
def test_answers_after_cuts(name, expected):
    assert value(name, CUTS) == pytest.approx(expected)


def test_specification_decoy_share_is_one_of_errors():
    # wrong: B (decoy), B (decoy), C -> 2/3; the right one and the compare row play no part
    outcomes = [row(task="specification", instance=f"i{k}", choice=c, decoy="B") for k, c in enumerate("BBCA")]
    outcomes.append(row(choice="B", decoy="B"))
    assert value("specification_decoy_share", outcomes) == pytest.approx(200 / 3)


def test_without_errors_there_is_no_share_of_errors():
    assert value("specification_decoy_share", [row(task="specification", decoy="B")]) is None


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_goes_by_its_name_and_says_what_it_is(name):
    metric = load(name)
    assert (metric.name, metric.unit in ("%", "points", "score"), metric.description != "") == (name, True, True)


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_without_any_rows_has_no_value(name):
    assert value(name, [row()], model="none") is None


def test_an_unknown_metric_names_the_nearest_one():
    with pytest.raises(KeyLookupError, match="'acuracy' is not a metric; did you mean 'accuracy'"):
        load("acuracy")


def test_a_reference_for_a_metric_that_takes_none_is_refused():
    with pytest.raises(KeyLookupError, match="d_scope takes no reference"):
        load("d_scope[view=table_nm]")


def test_a_reference_column_that_is_no_part_of_a_key_is_refused():
    with pytest.raises(KeyLookupError, match="'vew' is no part of a request key; did you mean 'view'"):
        load("flip_rate[vew=table_nm]")
