"""Replies: whatever a service sends, it is a reply, or an error of ours; and whatever a reply holds can be read and kept."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.backends.chat import Chat
from harness.backends.config import ModelConfig
from harness.backends.decisions import Decisions
from harness.backends.transport import understood
from harness.errors import IsoprobeError, StoreError
from harness.probe import Reading, Response
from harness.readouts import json_choice, labelled_lines
from harness.readouts.permute import average, readout
from harness.store import decode, encode
from harness.tests.fuzz.strategies import JSON, NUMBERS, TEXT, bounded, mutated, quick, replaced, request

URL = "http://127.0.0.1:1/v1"
ANSWER = {"model": "m", "id": "1", "provider": "p",
          "usage": {"input_tokens": 3, "prompt_tokens_details": {"cached_tokens": 1}},
          "diagnostics": {"q": {"label_mass": 0.9}}}
SHARES = {"A": 0.5, "B": 0.25, "cannot say": 0.25}
WIRE = {
    "systemone": {**ANSWER, "answers": {"q": {"type": "choice", "choice": "A", "confidence": 0.5, "probabilities": SHARES}}},
    "openrouter": {**ANSWER, "answers": {"q": {"choice": "B", "probabilities": SHARES}}},
    "openai": {**ANSWER, "answers": [{"name": "q", "choice": "A", "probabilities": [
        {"value": k, "probability": v} for k, v in SHARES.items()]}]},
}
CHAT = {**ANSWER, "choices": [{"finish_reason": "stop", "message": {"content": "A", "reasoning": "x"}, "logprobs": {
    "content": [{"token": "A", "logprob": -0.1, "top_logprobs": [{"token": " B", "logprob": -3.0}]}]}}]}


def reads(backend, asked, data) -> None:
    """A parsed reply can be read by its readout, and kept."""
    try:
        with quick():
            response = understood(lambda d: backend.parse(asked, d), data)
    except IsoprobeError:
        return
    assert isinstance(readout(asked.readout)(asked, response), Reading)
    assert response == decode(encode(response)) or "nan" in encode(response).casefold()


@pytest.mark.parametrize("shape", WIRE)
def test_a_decision_of_any_shape_is_read_or_refused(shape):
    backend = Decisions(ModelConfig("m", "decisions", model="m", base_url=URL, options={"shape": shape}))

    @bounded(100)
    @given(st.one_of(replaced(WIRE[shape], changes=3), st.dictionaries(st.sampled_from(["answers", "usage", "diagnostics"]),
                                                                       JSON)))
    def holds(data):
        reads(backend, request(), data)

    holds()


@pytest.mark.parametrize("kind", ["json_choice", "option_letters", "labelled_lines"])
def test_a_chat_completion_of_any_shape_is_read_or_refused(kind):
    backend = Chat(ModelConfig("m", "chat", model="m", base_url=URL))

    @bounded(80)
    @given(replaced(CHAT, changes=3))
    def holds(data):
        reads(backend, request(kind), data)

    holds()


@bounded(200)
@given(st.one_of(
    st.text(max_size=200), st.text(alphabet="{}[]\":,chointrbles AB01.e-+\n`", max_size=200), JSON.map(json.dumps),
    st.builds(lambda c, p, tail: json.dumps({"choice": c, "probabilities": p}) + tail, JSON, JSON, TEXT),
    mutated(b'```json\n{"choice": "A", "probabilities": {"A": 0.5, "B": 0.3, "cannot say": 0.2,}}\n```').map(
        lambda b: b.decode("utf-8", "replace"))))
def test_any_text_has_a_reading_as_json(text):
    asked = request("json_choice")
    with quick():
        reading = json_choice.read(asked, Response(text))
    assert reading.choice in (None, "A", "B", "undetermined")
    assert not reading.probabilities or abs(sum(reading.probabilities.values()) - 1) < 1e-6
    json.dumps(reading.notes)


@pytest.mark.parametrize("unit", ["{", "[", '{"choice":', '{"a":[', "<think>", "9", '"', "{}", "\\", "ANSWER: "])
def test_a_megabyte_of_one_piece_is_read_as_json_in_a_moment(unit):
    with quick():
        json_choice.read(request("json_choice"), Response(unit * (1_000_000 // len(unit))))


SPACES = {
    "integer": {"space": "integer"},
    "set": {"space": "set", "members": ["flow", "level"], "min": 0},
    "array": {"space": "set", "members": ["Crime", "Drama"], "min": 1},
}


@pytest.mark.parametrize("name", SPACES)
def test_any_text_has_a_reading_by_labels_in_every_answer_space(name):
    label = "" if name == "array" else "ANSWER"
    asked = request("labelled_lines", **SPACES[name], lines=[{"label": label, "about": "answer", **SPACES[name]}])

    @bounded(150)
    @given(st.one_of(st.text(max_size=80), st.text(alphabet='ANSWER: 0129-+[]",flowlevCrime\n`*', max_size=80),
                     mutated(b'Prose.\n\nANSWER: ["flow","level"]').map(lambda b: b.decode("utf-8", "replace")),
                     JSON.map(lambda value: f"ANSWER: {json.dumps(value)}")))
    def holds(text):
        with quick():
            reading = labelled_lines.read(asked, Response(text))
        assert (reading.choice is None) == ("answer" in reading.missing)

    holds()


@bounded(150)
@given(st.dictionaries(st.sampled_from(["A", "B", "undetermined", "C"]), NUMBERS),
       st.sampled_from(["probabilities", "logprobs"]), st.sampled_from(["decision", "option_letters", "option_text"]), TEXT)
def test_any_scores_have_a_reading(scores, scale, kind, text):
    asked = request(kind)
    reading = readout(kind)(asked, Response(text, option_scores=scores, scores_are=scale))
    average([reading, reading])
    assert not reading.probabilities or abs(sum(reading.probabilities.values()) - 1) < 1e-6


@bounded(150)
@given(st.one_of(JSON.map(json.dumps), st.text(max_size=60), replaced(json.loads(encode(Response("a")))).map(json.dumps),
                 mutated(encode(Response("a", option_scores={"A": 0.5})).encode()).map(
                     lambda b: b.decode("utf-8", "replace"))))
def test_a_stored_reply_is_a_reply_or_a_store_error(text):
    with contextlib.suppress(StoreError):
        assert isinstance(decode(text), Response)
