"""The generative route: one defined outcome for each way a reply comes back."""

import json

import pytest

from harness.probe import Response
from harness.readouts.json_choice import read
from harness.tests.asking import AB, BANDS, request

ASKED = request("json_choice", BANDS)
TWO = request("json_choice", AB)
GOOD = {"choice": "605-730 nm", "probabilities": {"450-605 nm": 0.2, "605-730 nm": 0.7, "cannot be determined": 0.1}}


def reading(text, asked=ASKED):
    return read(asked, Response(text=text))


def test_a_strict_reply_is_read_as_it_stands():
    got = reading(json.dumps(GOOD))
    assert (got.choice, got.notes) == ("605-730", {})
    assert got.probabilities == pytest.approx({"450-605": 0.2, "605-730": 0.7, "undetermined": 0.1})


@pytest.mark.parametrize(
    "text",
    [
        "```json\n" + json.dumps(GOOD, indent=1) + "\n```",
        "Here it is: " + json.dumps(GOOD) + " I am sure.",
        '<think>{"choice": "450-605 nm"}</think>\nSo: ' + json.dumps(GOOD),
    ],
)
def test_an_object_inside_other_text_is_read_and_noted(text):
    got = reading(text)
    assert (got.choice, got.notes) == ("605-730", {"wrapped": True})


def test_thinking_before_a_clean_object_is_not_a_wrapping():
    assert reading("<think>hm</think>\n" + json.dumps(GOOD)).notes == {}


def test_a_trailing_comma_is_removed_and_noted():
    got = reading('{"choice": "605-730 nm", "probabilities": {"450-605 nm": 0.3, },}')
    assert (got.choice, got.notes["repaired"]) == ("605-730", "trailing_comma")


def test_of_several_objects_the_last_with_a_choice_counts():
    assert reading('{"choice": "450-605 nm"} or {"choice": "605-730 nm"} {"x": 1}').choice == "605-730"


@pytest.mark.parametrize(
    "said, choice, form",
    [
        ("B", "B", None),
        ("**B**", "B", "markup"),
        ("B.", "B", "markup"),
        ("b", "B", "markup"),
        ("ANSWER: A,", "A", "markup"),
        ("The answer is B", "B", "markup"),
        ("B. Spectrum B", "B", "described"),
        ("(B) Spectrum B", "B", "described"),
        ("Spectrum B", None, None),
        ("B. Spectrum A", None, None),
        ("C", None, None),
        ("A or B", None, None),
    ],
)
def test_how_a_choice_is_written(said, choice, form):
    got = reading(json.dumps({"choice": said}), TWO)
    assert (got.choice, got.notes.get("choice_form")) == (choice, form)


@pytest.mark.parametrize(
    "said, choice",
    [
        ("b. 605-730 nm", "605-730"),
        ("B", "605-730"),
        ("605-730", "605-730"),
        ("605–730 nm", None),
        ("C) cannot be determined (The data provided are not enough to answer.)", "undetermined"),
    ],
)
def test_letters_and_keys_name_long_labels(said, choice):
    assert reading(json.dumps({"choice": said})).choice == choice


@pytest.mark.parametrize("said", [None, 3, ["A"], "D", "730-900 nm", {"A": 1}])
def test_what_was_not_offered_is_unparsed(said):
    got = reading(json.dumps({"choice": said}))
    assert (got.choice, got.missing, got.near_misses) == (None, ("answer",), ("not_offered",))


@pytest.mark.parametrize("text", ["B", "**B**", "ANSWER: A,", "", "{", "{choice: B}", "[1]", '{"answer": "B"}'])
def test_without_an_object_nothing_is_guessed(text):
    got = reading(text, TWO)
    assert (got.choice, got.near_misses) == (None, ("no_json",))


def test_probabilities_are_renormalised_and_the_raw_ones_kept():
    got = reading('{"choice": "A", "probabilities": {"A": 0.9, "B": 0.3}}', TWO)
    assert got.probabilities == pytest.approx({"A": 0.75, "B": 0.25})
    assert got.notes["raw_probabilities"] == {"A": 0.9, "B": 0.3}


@pytest.mark.parametrize(
    "said",
    [
        {"A": 0.9},
        {"A": -1, "B": 2},
        {"A": "0.9", "B": 0.1},
        {"A": 0, "B": 0},
        [0.9, 0.1],
        "x",
        {"A": True, "B": False},
        {"A": 1e400, "B": 0.1},
    ],
)
def test_unusable_probabilities_are_unavailable_and_never_zero(said):
    got = reading(json.dumps({"choice": "A", "probabilities": said}), TWO)
    assert (got.choice, got.probabilities, got.notes["probabilities_unusable"]) == ("A", {}, True)


def test_a_choice_that_is_not_the_most_probable_is_kept_as_said():
    got = reading('{"choice": "A", "probabilities": {"A": 0.2, "B": 0.8}}', TWO)
    assert (got.choice, got.notes["argmax_differs"]) == ("A", True)


@pytest.mark.parametrize(
    "text",
    ["{" * 20_000, '{"a":' * 5_000, "[" * 100_000, "\x00\x1b[31m" * 1000, "x" * 2_000_000, '{"choice": "\ud800"}'],
)
def test_hostile_text_is_unparsed_in_little_time(text):
    assert reading(text, TWO).choice is None
