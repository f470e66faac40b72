"""Decisions, letters, option texts, and the average over option orders."""

import math

import pytest

from harness.errors import KeyLookupError
from harness.probe import Reading, Response
from harness.readouts import decision, option_letters, option_text
from harness.readouts.permute import average, read, readout, reversed_request
from harness.tests.asking import AB, BANDS, compose, request

ASKED = request("decision", AB)


def decided(choice="A", scores=None, **more):
    return decision.read(ASKED, Response(choice=choice, option_scores=scores or {}, scores_are="probabilities", **more))


def test_rounded_probabilities_are_renormalised_and_their_sum_noted():
    got = decided("A", {"A": 0.67, "B": 0.34})
    assert got.probabilities == pytest.approx({"A": 0.67 / 1.01, "B": 0.34 / 1.01})
    assert got.notes == {"probability_sum": 1.01}


def test_a_decision_stands_where_it_is_not_the_most_probable():
    got = decided("B", {"A": 0.8, "B": 0.2})
    assert (got.choice, got.notes) == ("B", {"argmax_differs": True})


def test_a_missing_probability_makes_all_unavailable():
    assert decided("A", {"A": 0.9}).probabilities == {}


@pytest.mark.parametrize(
    "response, slip", [(Response(extra={"refusal": True}), "refusal"), (Response(choice="C"), "not_offered")]
)
def test_a_refusal_and_an_option_not_offered_are_unparsed(response, slip):
    got = decision.read(ASKED, response)
    assert (got.choice, got.missing, got.near_misses) == (None, ("answer",), (slip,))


def test_letters_are_a_softmax_over_their_log_probabilities():
    got = option_letters.read(ASKED, Response(option_scores={"A": math.log(0.3), "B": math.log(0.1)}))
    assert got.choice == "A"
    assert got.probabilities == pytest.approx({"A": 0.75, "B": 0.25})


def test_a_letter_outside_the_candidates_leaves_the_choice_and_no_probabilities():
    got = option_letters.read(ASKED, Response(option_scores={"B": -0.5}))
    assert (got.choice, got.probabilities, got.notes) == ("B", {}, {"letters_missing": ["A"]})


@pytest.mark.parametrize(
    "text, choice", [("B", "B"), (" b.", "B"), ("<think>A</think>B", "B"), ("both", None), ("", None)]
)
def test_without_scores_the_text_is_read_as_a_letter(text, choice):
    assert option_letters.read(ASKED, Response(text=text)).choice == choice


def test_letters_follow_the_position_where_labels_are_longer():
    assert request("option_letters", BANDS).letters == {"A": "450-605", "B": "605-730", "C": "undetermined"}


def test_letters_are_the_labels_where_they_are_letters():
    assert request("option_letters", AB[::-1]).letters == {"B": "B", "A": "A"}


def test_option_text_gives_the_raw_choice_and_the_one_per_token():
    got = option_text.read(
        ASKED, Response(option_scores={"A": -4.0, "B": -6.0}, extra={"option_tokens": {"A": 1, "B": 3}})
    )
    assert (got.choice, got.notes["raw_choice"], got.notes["per_token_choice"]) == ("A", "A", "B")


def test_option_text_without_all_scores_is_unparsed():
    assert option_text.read(ASKED, Response(option_scores={"A": -4.0})).near_misses == ("scores_missing",)


def test_averaging_takes_the_most_probable_of_the_mean():
    got = average([Reading("A", {"A": 0.6, "B": 0.4}), Reading("B", {"A": 0.1, "B": 0.9})])
    assert got.choice == "B"
    assert got.probabilities == pytest.approx({"A": 0.35, "B": 0.65})
    assert got.notes["order_choices"] == ["A", "B"]


def test_a_tie_of_the_mean_goes_to_the_forward_order():
    assert average([Reading("B", {"A": 0.2, "B": 0.8}), Reading("A", {"A": 0.8, "B": 0.2})]).choice == "B"


@pytest.mark.parametrize("second, choice, slips", [("A", "A", ()), ("B", None, ("orders_disagree",))])
def test_without_probabilities_the_orders_must_agree(second, choice, slips):
    got = average([Reading("A"), Reading(second)])
    assert (got.choice, got.near_misses) == (choice, slips)


def test_the_notes_of_an_average_stand_in_the_order_of_the_readings_whatever_the_hash_seed():
    first, second = {f"note{n}": n for n in (3, 1, 2)}, {f"note{n}": n for n in (9, 1, 8, 7)}
    got = average([Reading("A", notes=first), Reading("A", notes=second)])
    assert list(got.notes) == ["order_choices", "note3", "note1", "note2", "note9", "note8", "note7"]


def test_one_unread_order_leaves_the_whole_unread():
    assert average([Reading("A", {"A": 1.0, "B": 0.0}), Reading(None, missing=("answer",))]).choice is None


def test_the_reversed_request_shows_its_options_in_reverse_and_says_so():
    turned = reversed_request(request("decision", BANDS), compose)
    assert [o.key for o in turned.options] == ["undetermined", "605-730", "450-605"]
    assert turned.prompt.index("cannot") < turned.prompt.index("450-605")


def test_replies_are_read_by_the_requests_own_readout():
    asked = request("json_choice", AB)
    assert read([(asked, Response(text='{"choice": "B"}'))]).choice == "B"


def test_an_unknown_readout_names_the_nearest():
    with pytest.raises(KeyLookupError, match="did you mean 'decision'"):
        readout("decisions")
