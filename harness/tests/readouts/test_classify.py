"""Statuses in their precedence, and rows that hold nothing but builtins."""

import enum
import json
from pathlib import Path

import numpy as np
import pytest

from harness.classify import builtin, outcome, reply_status, worth_reading
from harness.outcome import Outcome
from harness.probe import ABSTAIN, Claim, Reading, Response, Truth, Usage
from harness.tests.asking import BANDS, VIEW, request

ASKED = request(
    "decision", BANDS, truth=Truth("450-605", facts={"cut": "full", "wording": "wavelength", "depth": np.float64(0.5)})
)


READ = Reading("450-605")


def row(response, reading=READ, asked=ASKED):
    return outcome(asked, [response], reading, dataset="d", view=VIEW)


@pytest.mark.parametrize(
    "response, status",
    [
        (Response(text="x", finish_reason="repetition", error="boom"), "repetition"),
        (Response(text="x", finish_reason="length", error="boom"), "truncated"),
        (Response(text="", finish_reason="length"), "truncated"),
        (Response(text="x", error="boom"), "provider_error"),
        (Response(text="x", finish_reason="content_filter"), "provider_error"),
        (Response(text=""), "provider_error"),
        (Response(text=" \n"), "provider_error"),
        (Response(text="<think>hm</think>\n"), "provider_error"),
        (Response(text="<think>hm</think>\n", choice="A"), "usable"),
        (Response(text="x"), "usable"),
        (Response(option_scores={"A": -1.0}, finish_reason="length"), "usable"),
        (Response(extra={"refusal": True}), "usable"),
    ],
)
def test_the_status_of_a_reply(response, status):
    assert reply_status(response) == status


@pytest.mark.parametrize("response", [Response(finish_reason="length", text="A"), Response(error="x"), Response()])
def test_a_reply_that_is_not_whole_is_never_parsed_for_an_answer(response):
    assert not worth_reading([response])
    got = row(response)
    assert (got.choice, got.correct, got.abstained) == (None, None, None)


@pytest.mark.parametrize(
    "reading, status",
    [
        (Reading(None, missing=("answer",)), "unparsed"),
        (Reading("450-605", missing=("SUFFICIENCY",)), "unparsed"),
        (None, "unparsed"),
        (Reading("450-605"), "usable"),
    ],
)
def test_a_whole_reply_without_a_demanded_field_is_unparsed(reading, status):
    assert row(Response(text="x"), reading).status == status


def test_what_an_unusable_reply_did_say_is_only_a_note():
    got = row(Response(text="x"), Reading("450-605", missing=("SUFFICIENCY",)))
    assert (got.choice, got.correct, got.notes["said"]) == (None, None, "450-605")


@pytest.mark.parametrize(
    "choice, correct, abstained", [("450-605", True, False), ("605-730", False, False), (ABSTAIN, False, True)]
)
def test_a_usable_row_is_right_or_wrong_and_abstains_or_not(choice, correct, abstained):
    got = row(Response(text="x"), Reading(choice))
    assert (got.correct, got.abstained) == (correct, abstained)


def test_confidence_is_the_probability_of_the_choice():
    got = row(Response(text="x"), Reading("605-730", {"450-605": 0.1, "605-730": 0.8, ABSTAIN: 0.1}))
    assert (got.confidence, got.probability_kind) == (0.8, "readout")


def test_self_reported_probabilities_are_never_taken_for_a_readouts():
    asked = request("json_choice", BANDS)
    assert row(Response(text="x"), Reading("450-605", {"450-605": 1.0}), asked).probability_kind == "self-reported"


def test_the_worst_of_two_orders_is_the_status():
    got = outcome(ASKED, [Response(text="x"), Response(error="e")], None, dataset="d", view=VIEW)
    assert got.status == "provider_error"


def test_tokens_cost_and_tries_are_those_of_all_replies():
    reply = Response(text="x", usage=Usage(10, None, 2, None, 0.5), tries=2, latency_s=1.0)
    got = outcome(ASKED, [reply, reply], Reading("450-605"), dataset="d", view=VIEW)
    assert (got.tokens_in, got.tokens_cached, got.cost_usd, got.tries, got.latency_s) == (20, None, 1.0, 4, 2.0)


def test_known_facts_become_columns_and_the_rest_stays_facts():
    got = row(Response(text="x"))
    assert (got.cut, got.wording, got.facts) == ("full", "wavelength", {"depth": 0.5})


@pytest.mark.parametrize("said", [{"cost_usd": float("nan")}, {"cost_usd": float("inf")}, {"tokens_in": 10**400}])
def test_a_count_that_no_sum_can_be_taken_of_is_not_known(said):
    got = row(Response(text="x", usage=Usage(**said)))
    assert [getattr(got, name) for name in said] == [None]
    assert Outcome.from_row(json.loads(got.to_json())) == got


def exact(value):
    if isinstance(value, dict):
        return all(type(k) is str and exact(v) for k, v in value.items())
    if isinstance(value, list):
        return all(map(exact, value))
    return value is None or type(value) in (str, int, float, bool)


class Colour(enum.Enum):
    RED = "red"


class Text(str):
    pass


@pytest.mark.parametrize(
    "value",
    [
        np.float32(0.5),
        np.int64(3),
        np.bool_(True),
        np.array([1, 2]),
        Path("x"),
        Colour.RED,
        Text("t"),
        {"a": (1, {Text("b")})},
        {1: np.float64(2)},
    ],
)
def test_whatever_comes_in_goes_out_as_exact_builtins(value):
    assert exact(builtin(value))


def test_a_row_survives_json_and_comes_back_equal():
    asked = request("decision", BANDS, truth=Truth("450-605", facts={"n": np.int64(3), "p": Path("a")}))
    got = row(
        Response(text="x"),
        Reading("450-605", {"450-605": np.float64(1)}, (Claim("text", "A"),), notes={"k": np.float32(1)}),
        asked,
    )
    assert exact(got.to_row())
    assert Outcome.from_row(json.loads(json.dumps(got.to_row()))) == got
