"""Each metric on six items computed by hand, against loops that say the formula outright, and on planted rates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.bootstrap import Resamples
from harness.errors import DataError
from harness.metrics.attribution import matched
from harness.metrics.metric import load
from harness.outcome import Outcome
from harness.rows import Rows
from harness.tests.sufficiency.arms import item, outcome


def value(name: str, outcomes: list[Outcome], **where: Any) -> float | None:
    rows = Rows.of(outcomes)
    return Resamples.draw(rows, 50).estimate(load(name), rows.where(where)).value


# answers: both, text, image; expected A
SIX = [
    *item("1", "AAA", "AAA", "AA", "SS"),                         # nothing changes
    *item("2", "AAB", "AAB", "AA", "SI", "AA"),                   # image alone differs; flagged and claimed
    *item("3", "ABA", "ABA", "AA", "SS"),                         # text alone differs; silent
    *item("4", "ABC", "ABC", "BC", "IS", "AC"),                   # both differ; text flagged, image silent
    *item("5", "AAA", "BAA", "BA", "IS", "BA"),                   # false alarm on text, and it claims B
    *item("6", "AA-", "AAA", "AA", "SS"),                         # plain image arm did not parse
]
TEXT, IMAGE = {"view": "text"}, {"view": "image"}


@pytest.mark.parametrize(
    ("name", "where", "expected"),
    [
        # text given: y~ = A A B B A A against y_AB = A throughout; claims A A B A B A
        ("executed_change", TEXT, 100 * 2 / 6),
        ("predicted_change", TEXT, 100 * 2 / 6),
        ("calibration_gap", TEXT, 0.0),
        ("insufficient_share", TEXT, 100 * 2 / 6),
        ("insufficiency_precision", TEXT, 50.0),
        ("insufficiency_recall", TEXT, 50.0),
        ("silent_failures", TEXT, 100 / 6),
        ("flag_contradicts_claim", TEXT, 0.0),
        ("claim_accuracy", TEXT, 100 * 4 / 6),
        # claims are A four times and B twice, joint answers always A
        ("claim_chance", TEXT, 100 * 4 / 6),
        ("change_chance", TEXT, 100 * 2 / 6),
        # image given: y~ = A B A C A A; claims A A A C A A
        ("executed_change", IMAGE, 100 * 2 / 6),
        ("predicted_change", IMAGE, 100 / 6),
        ("calibration_gap", IMAGE, 100 / 6),
        ("insufficiency_precision", IMAGE, 100.0),
        ("insufficiency_recall", IMAGE, 50.0),
        ("silent_failures", IMAGE, 100 / 6),
        # common set: every text item; image without item 6, whose plain image arm did not parse
        ("executed_change_mixed", TEXT, 100 * 2 / 6),
        ("executed_change_assessment", TEXT, 100 * 3 / 6),
        ("executed_change_plain", TEXT, 100 * 2 / 6),
        ("predicted_change_common", IMAGE, 100 / 5),
        ("executed_change_mixed", IMAGE, 100 * 2 / 5),
        ("executed_change_assessment", IMAGE, 100 * 3 / 5),
        ("executed_change_plain", IMAGE, 100 * 2 / 5),
        # executed delta of items 1 to 5: either, text, image, neither, either; item 6 is dropped
        ("executed_either", {}, 40.0),
        ("executed_first", {}, 20.0),
        ("executed_second", {}, 20.0),
        ("executed_neither", {}, 20.0),
        # stated: either, either, either, neither, text (claims B A against its own B)
        ("stated_either", {}, 60.0),
        ("stated_first", {}, 20.0),
        ("stated_second", {}, 0.0),
        ("stated_neither", {}, 20.0),
        ("attribution_gap_either", {}, -20.0),
        ("attribution_gap_second", {}, 20.0),
        ("attribution_agreement", {}, 40.0),  # items 1 and 4
        ("attribution_chance", {}, 100 * (0.6 * 0.4 + 0.2 * 0.2 + 0.0 * 0.2 + 0.2 * 0.2)),
        # plain text: A A B B A A -> 4 of 6; assessed the same; joint 6 of 6 against 5 of 6
        ("task_score", {"view": "text", "template": "plain"}, 100 * 4 / 6),
        ("assessment_cost", TEXT, 0.0),
        ("assessment_cost", {"view": "both"}, -100 / 6),
        ("answer_moved", {"view": "both"}, 100 / 6),
        (
            "task_score",
            {"view": "image", "template": "plain"},
            100 * 3 / 6,
        ),  # the unparsed row stays in the denominator
        ("assessment_cost", IMAGE, 100 / 6),
    ],
)
def test_six_items_by_hand(name: str, where: dict[str, str], expected: float) -> None:
    assert expected == pytest.approx(value(name, SIX, **where))


@pytest.mark.parametrize(("side", "category", "expected"), [
    # assessed delta of items 1 to 5: either, text, image, neither, neither (A A against B)
    ("executed_assessed", "neither", 40.0), ("executed_assessed", "either", 20.0), ("executed", "either", 40.0),
    ("stated", "either", 60.0),
])
def test_matched_wirings_of_attribution_by_hand(side: str, category: str, expected: float) -> None:
    rows = Rows.of(SIX)
    assert expected == pytest.approx(Resamples.draw(rows, 20).estimate(matched(side, category), rows).value)


ANNOTATED = [
    *item("1", "AAB", "AAB", "AB", fact_golden="text"),    # executed {text}, stated {text}
    *item("2", "AAB", "AAB", "AA", fact_golden="text"),    # executed {text}, stated either
    *item("3", "AAB", "AAB", "BA", fact_golden="image"),   # executed {text}, stated {image}
    *item("4", "ABA", "ABA", "BA", fact_golden="image"),   # executed {image}, stated {image}
    *item("5", "AAA", "AAA", "AA", fact_golden="image"),   # either, either
    *item("6", "AAB", "AAB", "AB", fact_golden=""),        # no annotation
]


@pytest.mark.parametrize(("name", "expected"), [
    # plain accuracy with and without the golden input: 1-0, 1-0, 0-1, 1-0, 1-1
    ("golden_accuracy_gap", 100 * 2 / 5), ("alignment_stated", 60.0), ("alignment_executed", 60.0),
    ("alignment_difference", 0.0), ("single_set_stated", 60.0), ("single_set_executed", 80.0),
    ("golden_given_single_stated", 100.0), ("golden_given_single_executed", 75.0),
])
def test_annotated_evidence_by_hand(name: str, expected: float) -> None:
    assert expected == pytest.approx(value(name, ANNOTATED))


KNOWN = [
    outcome(str(i), "text", "assessment", "A", {"both": "A", "sufficiency": flag}, fact_sufficient={"text": settled})
    for i, (flag, settled) in enumerate(
        [
            ("SUFFICIENT", True),
            ("SUFFICIENT", True),
            ("INSUFFICIENT", True),
            ("SUFFICIENT", False),
            ("INSUFFICIENT", False),
            ("INSUFFICIENT", False),
        ]
    )
]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("known_sufficiency", 100 * 4 / 6), ("overclaimed_sufficiency", 100 / 3), ("underclaimed_sufficiency", 100 / 3)],
)
def test_known_sufficiency_by_hand(name: str, expected: float) -> None:
    assert expected == pytest.approx(value(name, KNOWN))


def sets(*pairs: tuple[str | None, str]) -> list[Outcome]:
    return [outcome(str(i), "text", "plain", said, expected=gold, answer_space="set", fact_score="sample_f1")
            for i, (said, gold) in enumerate(pairs)]


def test_the_f1_of_sets_is_averaged_over_all_attempted_items() -> None:
    rows = sets(('["A"]', '["A"]'), ('["A","B"]', '["A"]'), ('["C"]', '["A"]'), (None, '["A"]'), ("[]", "[]"),
                ('["A","B","C"]', '["B","C","D"]'))
    assert 100 * (1 + 2 / 3 + 0 + 0 + 1 + 2 / 3) / 6 == pytest.approx(value("task_score", rows))


def test_macro_f1_by_hand() -> None:
    said = ["even", "odd", "odd", None, "neither", "neither"]
    gold = ["even", "even", "odd", "odd", "neither", "odd"]
    rows = [outcome(str(i), "text", "plain", s, expected=g, fact_score="macro_f1")
            for i, (s, g) in enumerate(zip(said, gold, strict=True))]
    # even: 1 hit of 1 said, 2 gold; odd: 1 of 2 said, 3 gold; neither: 1 of 2 said, 1 gold
    assert 100 * (2 / 3 + 2 / 5 + 2 / 3) / 3 == pytest.approx(value("task_score", rows))


def test_scores_of_different_kinds_are_not_pooled() -> None:
    with pytest.raises(DataError, match="add a filter by spec"):
        value("task_score", [*sets(("[]", "[]")), outcome("x", "text", "plain", "A")])


# -- shared generations -------------------------------------------------------------------------------------------


def film(name: str, plots: int, poster: str, claim: str, flag: str) -> list[Outcome]:
    """A film with some plots, all answered A, and one poster generation."""
    rows = []
    for i in range(plots):
        rows += [o for o in item(f"{name}-p{i}", "AAA", "AAA", "AA", cluster=name) if o.view != "image"]
    shared = {"cluster": name, "fact_shared": True}
    return [*rows, outcome(name, "image", "plain", poster, **shared),
            outcome(name, "image", "assessment", poster, {"both": claim, "sufficiency": flag}, **shared)]


FILMS = [*film("f1", 3, "B", "B", "SUFFICIENT"), *film("f2", 1, "A", "A", "SUFFICIENT")]


@pytest.mark.parametrize(
    ("name", "where", "expected"),
    [
        ("executed_change", IMAGE, 75.0),
        ("silent_failures", IMAGE, 75.0),
        ("executed_first", {}, 75.0),
        ("executed_either", {}, 25.0),
        ("task_score", {"view": "image", "template": "plain"}, 25.0),
    ],
)
def test_a_poster_counts_once_for_every_row_of_its_film(name: str, where: dict, expected: float) -> None:
    assert expected == pytest.approx(value(name, FILMS, **where))


def test_losing_a_poster_drops_all_rows_of_the_film() -> None:
    kept = [o for o in FILMS if not (o.view == "image" and o.instance == "f1")]
    assert 0.0 == value("executed_change", kept, view="image")
    assert 100.0 == value("executed_either", kept)


def test_intervals_resample_films_not_rows() -> None:
    rows = Rows.of(FILMS)
    assert [("s", "f1"), ("s", "f2")] == rows.units


# -- joining ------------------------------------------------------------------------------------------------------


def test_models_and_repeats_are_never_joined_with_each_other() -> None:
    plain = outcome("1", "both", "plain", "A", model="a")
    alone = outcome("1", "text", "assessment", "B", {"both": "B", "sufficiency": "SUFFICIENT"}, model="b")
    assert value("executed_change", [plain, alone]) is None
    again = outcome("1", "both", "plain", "A", model="b", repeat=1)
    assert value("executed_change", [again, alone]) is None


def test_a_missing_arm_drops_the_item_and_without_items_there_is_no_data() -> None:
    rows = [o for o in SIX if not (o.view == "both" and o.template == "plain")]
    assert value("executed_change", rows) is None
    assert value("insufficiency_precision", [o for o in SIX if o.instance == "1"]) is None


def test_a_lost_row_is_as_good_as_missing() -> None:
    rows = [outcome("1", "both", "plain", None, status="lost"), *[o for o in item("1", "AAA", "AAA", "AA")
                                                                   if (o.view, o.template) != ("both", "plain")]]
    assert value("executed_change", rows) is None


# -- against loops ------------------------------------------------------------------------------------------------

LETTERS = st.sampled_from("AB-")
ITEMS = st.lists(st.tuples(st.text("AB-", min_size=3, max_size=3), st.text("AB-", min_size=3, max_size=3),
                           st.text("AB", min_size=2, max_size=2), st.text("SI", min_size=2, max_size=2),
                           st.text("AB", min_size=2, max_size=2)), min_size=1, max_size=6)


def slow(items: list[tuple], weights: list[float], given: int) -> dict[str, float]:
    """The formulas, item by item; ``given`` is 1 for text, 2 for image."""
    n = changed = predicted = flagged = hits = 0.0
    attributed = stated_either = 0.0
    for (plain, assessed, stated, flags, claims), w in zip(items, weights, strict=True):
        if assessed[given] != "-" and plain[0] != "-":
            c, i = assessed[given] != plain[0], flags[given - 1] == "I"
            n, changed, predicted = n + w, changed + w * c, predicted + w * (claims[given - 1] != assessed[given])
            flagged, hits = flagged + w * i, hits + w * (c and i)
        if assessed[0] != "-" and "-" not in plain:
            attributed += w
            stated_either += w * (stated[0] == assessed[0] == stated[1])
    def over(a: float, b: float) -> float:
        return 100 * a / b if b else np.nan
    return {"executed_change": over(changed, n), "calibration_gap": over(changed - predicted, n),
            "insufficiency_precision": over(hits, flagged), "insufficiency_recall": over(hits, changed),
            "silent_failures": over(changed - hits, n), "stated_either": over(stated_either, attributed)}


@settings(max_examples=30, deadline=None)
@given(ITEMS, st.data())
def test_every_weight_gives_what_a_loop_over_items_gives(items: list[tuple], data: st.DataObject) -> None:
    rows = Rows.of([o for i, it in enumerate(items) for o in item(str(i), *it)])
    weights = np.array([data.draw(st.lists(st.integers(0, 3), min_size=len(items), max_size=len(items)))], float)
    for given_arm, view in ((1, "text"), (2, "image")):
        expected = slow(items, list(weights[0]), given_arm)
        for name, want in expected.items():
            metric = load(name)
            part = metric.select(rows if name == "stated_either" else rows.where(view=view))
            got = metric.compute(part, weights)[0] if len(part) else np.nan
            assert np.isclose(want, got, equal_nan=True), name
