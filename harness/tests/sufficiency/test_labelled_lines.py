"""The closing block: what parses, what stays unread and why, and that hostile replies cost linear time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.probe import Reading, Request, RequestKey, Response
from harness.readouts.labelled_lines import read
from harness.readouts.text import without_thinking

PARITY = {"space": "choice", "values": ["even", "odd", "neither"]}
GENRES = {"space": "set", "members": ["Crime", "Drama", "Sci-Fi"], "min": 1}
FLAG = {"label": "SUFFICIENCY", "about": "sufficiency", "space": "choice", "values": ["SUFFICIENT", "INSUFFICIENT"]}


def said(text: str, *lines: dict, **response: object) -> Reading:
    fields = list(lines) or [{"label": "ANSWER", "about": "answer", **PARITY},
                             {"label": "WITH_IMAGE", "about": "both", **PARITY}, FLAG]
    key = RequestKey("s", "t", "i", "orig", "text", "assessment", 0, "m")
    request = Request(key, (), "", (), "labelled_lines", "", answer={**fields[0], "lines": fields})
    return read(request, Response(text, **response))


def one(space: dict, label: str = "ANSWER") -> dict:
    return {"label": label, "about": "answer", **space}


BLOCK = "ANSWER: odd\nWITH_IMAGE: even\nSUFFICIENCY: INSUFFICIENT"


@pytest.mark.parametrize("text", [
    BLOCK, f"Some prose.\n\n{BLOCK}\n", BLOCK.replace("\n", "\n\n"), BLOCK.replace("\n", "\r\n"), f"  {BLOCK}  ",
    f"<think>ANSWER: even\nnot sure</think>\n{BLOCK}", f"ANSWER: even, I thought first</think>\n{BLOCK}",
    f"<think>a</think><think>b</think>{BLOCK}", f"<|channel>thought\nANSWER: even\n<channel|>{BLOCK}",
    BLOCK.replace("odd", "Odd"), f"I say ANSWER: odd below.\n{BLOCK}",
])
def test_a_complete_block_is_read(text: str) -> None:
    reading = said(text)
    assert ("odd", {"both": "even", "sufficiency": "INSUFFICIENT"}, ()) == (
        reading.choice, {c.about: c.answer for c in reading.claims}, reading.missing)


@pytest.mark.parametrize(("text", "field", "kind"), [
    (BLOCK.replace("SUFFICIENCY: ", ""), "sufficiency", "bare_value"),
    (BLOCK.replace("SUFFICIENCY: INSUFFICIENT", "**INSUFFICIENT**"), "sufficiency", "bare_value"),
    (BLOCK.replace("WITH_IMAGE:", "With image:"), "both", "label_prose"),
    (BLOCK.replace("SUFFICIENCY:", "**SUFFICIENCY:**"), "sufficiency", "label_markup"),
    ("ANSWER: odd\n" + BLOCK, "answer", "duplicate_label"),
    (BLOCK + "\nI hope this helps.", "answer", "text_after"),
    (BLOCK.replace("ANSWER: odd\n", "so my ANSWER: odd\n"), "answer", "label_inside_text"),
    (BLOCK.replace("odd", ""), "answer", "empty_value"),
    (BLOCK.replace("odd", "**odd**"), "answer", "value_markup"),
    (BLOCK.replace("odd", "odd."), "answer", "value_markup"),
    (BLOCK.replace("odd", "odd, because f(-x) = -f(x)"), "answer", "value_with_text"),
    (BLOCK.replace("odd", "<exactly one of: even, odd, neither>"), "answer", "prompt_echo"),
    (BLOCK.replace("odd", "both"), "answer", "out_of_space"),
    ("WITH_IMAGE: even\nANSWER: odd\nSUFFICIENCY: SUFFICIENT", "answer", "wrong_order"),
])
def test_a_near_miss_stays_unread_and_is_counted_by_kind(text: str, field: str, kind: str) -> None:
    reading = said(text)
    assert (True, kind) == (field in reading.missing, reading.notes["near_miss_by_field"][field])


def test_other_fields_of_a_block_with_a_near_miss_are_still_read() -> None:
    reading = said(BLOCK.replace("SUFFICIENCY: ", ""))
    assert ("odd", ("sufficiency",)) == (reading.choice, reading.missing)


@pytest.mark.parametrize("text", ["", "<think>and so on", "<think>" + BLOCK])
def test_a_reply_that_ends_inside_its_reasoning_holds_nothing(text: str) -> None:
    assert ("answer", "both", "sufficiency") == said(text).missing


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("24", "24"),
        ("+24", "24"),
        ("024", "24"),
        ("-3", "-3"),
        ("24.0", None),
        ("1,000", None),
        ("24 units", None),
        ("9" * 40, None),
        ("٢٤", None),
    ],
)
def test_integers(value: str, expected: str | None) -> None:
    assert expected == said(f"ANSWER: {value}", one({"space": "integer"})).choice


@pytest.mark.parametrize(("value", "expected"), [
    ('["Drama", "Crime"]', '["Crime","Drama"]'), ('["drama","Drama"]', '["Drama"]'), ("['Drama']", None),
    ('["Drama", "News"]', None), ("[]", None), ('"Drama"', None), ("[[\"Drama\"]]", None), ('["Drama"', None),
])
def test_sets_are_compared_as_sets(value: str, expected: str | None) -> None:
    assert expected == said(f"ANSWER: {value}", one(GENRES)).choice


@pytest.mark.parametrize(("text", "expected"), [
    ('It is grim.\n["Drama", "Crime"]', '["Crime","Drama"]'), ('The genres are ["Drama"]', '["Drama"]'),
    ('```json\n["Drama"]\n```', '["Drama"]'), ('["Drama"] I think', None), ("Drama", None), ("", None),
    ('[\n "Drama",\n "Crime"\n]', '["Crime","Drama"]'),
])
def test_a_form_without_a_label_ends_with_a_json_array(text: str, expected: str | None) -> None:
    assert expected == said(text, one(GENRES, "")).choice


@given(st.text(alphabet="ANSWER: odeven\n[]\"<think>/*`", max_size=200))
def test_any_text_has_a_reading(text: str) -> None:
    said(text)
    said(text, one(GENRES, ""))


@pytest.mark.parametrize(
    "unit", ["<think>", "</think>", "<think></think>", "ANSWER: ", "ANSWER:\n", "[", "\n", "*", "1 ", ":"]
)
def test_a_megabyte_of_anything_is_read_in_a_moment(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    start = time.process_time()
    said(text)
    said(text, one(GENRES, ""))
    said(f"ANSWER: {text}", one(GENRES))
    assert time.process_time() - start < 3


def test_reasoning_is_taken_out_wherever_it_stands() -> None:
    assert "a b" == without_thinking("a<think>x</think> b")
