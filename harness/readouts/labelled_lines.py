r"""Labelled lines: the closing block of the modality suites (modality paper, appendix C.1 and D).

The prompt demands a few lines at the end of the reply, in one order, each with a literal label that occurs on its own
line exactly once: ``ANSWER: ...``, ``POSTER_ALONE: ...``, ``SUFFICIENCY: ...``. What stands before them is ignored, and
so is reasoning between ``<think>`` and ``</think>`` (closed, never closed, or only its end). A field parses when

- its label starts exactly one line of the reply, and that line is one of the last n lines that are not blank, n being
  the number of lines demanded;
- the demanded lines that are there stand in the demanded order;
- the value lies in the field's space: one of the values (letter case aside), an integer, or a JSON array of members.

Everything else stays unread, and its kind is counted, so that a table can say why rows are lost:

=====================  =====================================================================================
``bare_value``         the value alone on a line, without its label
``label_prose``        the label in other letters: ``Plot alone:`` for ``PLOT_ALONE:``
``label_markup``       the label in Markdown: ``**ANSWER:** B``
``duplicate_label``    the label starts more than one line
``text_after``         the line stands too early: something else follows the block
``wrong_order``        the demanded lines stand in another order
``label_inside_text``  the label occurs, but never at the start of a line
``empty_value``        nothing after the label
``value_markup``       a right value in quotes, Markdown or with closing punctuation: ``**B**``, ``even.``
``value_with_text``    a right value and more text: ``B. 4``, ``24 units``
``prompt_echo``        the placeholder of the prompt: ``<exactly one of: ...>``
``not_json``           a set that is no JSON array of strings
``out_of_space``       any other value, e.g. a genre that was not offered
``no_array``           no JSON array at the end of a reply that must end with one
=====================  =====================================================================================

A field whose ``label`` is empty demands no label: the reply must end with a JSON array (a closing fence is allowed).
Every step is linear in the length of the reply.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..probe import Claim, Reading, Request, Response
from .text import without_thinking

_LONGEST = 20_000
"""A longer value is out of every space."""
_EDGE = " \t*_`\"'“”‘’.,;:!()<>#"
_LABEL_EDGE = " \t*_`#>-•"
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER_AND_TEXT = re.compile(r"[^0-9]{0,80}[0-9]{1,18}([^0-9].{0,200})?", re.S)
_NOT_LETTER = re.compile(r"[^a-z0-9]")


def read(request: Request, response: Response) -> Reading:
    """The answer (the field about ``answer``) and the claims (all other fields) of one reply."""
    text = without_thinking(response.text)
    fields = request.answer.get("lines") or [{**request.answer, "label": "ANSWER", "about": "answer"}]
    if len(fields) == 1 and not fields[0]["label"]:
        found, notes = _closing_array(text, fields[0])
        results = [found]
    else:
        results, notes = _labelled(text, fields), {}
    values = {f["about"]: value for f, (value, _) in zip(fields, results, strict=True)}
    missing = tuple(about for about, value in values.items() if value is None)
    slips = {f["about"]: kind for f, (value, kind) in zip(fields, results, strict=True) if value is None and kind}
    if slips:
        notes = {**notes, "near_miss_by_field": slips}
    claims = tuple(Claim(about, value) for about, value in values.items() if about != "answer" and value is not None)
    return Reading(values.get("answer"), claims=claims, missing=missing, near_misses=tuple(slips.values()), notes=notes)


def _labelled(text: str, fields: Sequence[Mapping[str, Any]]) -> list[tuple[str | None, str]]:
    """(value or None, kind of slip) of each field."""
    rows = [row for raw in text.split("\n") if (row := raw.strip())]
    closing = len(rows) - len(fields)
    starts = {f["label"]: [i for i, row in enumerate(rows) if row.startswith(f["label"] + ":")] for f in fields}
    results: list[tuple[str | None, str]] = []
    for f in fields:
        label, places = f["label"], starts[f["label"]]
        if len(places) > 1:
            results.append((None, "duplicate_label"))
        elif not places:
            results.append((None, _near_miss(text, rows, f, fields)))
        elif places[0] < closing:
            results.append((None, "text_after"))
        else:
            results.append(value_in(rows[places[0]][len(label) + 1 :], f))
    there = [i for i, f in enumerate(fields) if len(starts[f["label"]]) == 1]
    ordered = sorted(there, key=lambda i: starts[fields[i]["label"]][0])
    for i, j in zip(there, ordered, strict=True):
        if i != j and results[i][0] is not None:
            results[i] = (None, "wrong_order")
    return results


def _near_miss(text: str, rows: list[str], field: Mapping[str, Any], fields: Sequence[Mapping[str, Any]]) -> str:
    """What stands in the place of a label that starts no line; "" when nothing like it does."""
    label = field["label"]
    tail = [row[:2000] for row in rows[-len(fields) - 2 :]]
    for row in reversed(tail):
        head = row.partition(":")[0]
        plain = head.strip(_LABEL_EDGE)
        if plain == label:
            return "label_markup"
        if len(plain) < 80 and _letters(plain) == _letters(label) and ":" in row:
            return "label_prose"
    for row in reversed(tail):
        if (
            not any(row.startswith(f["label"] + ":") for f in fields)
            and value_in(row.strip(_EDGE), field)[0] is not None
        ):
            return "bare_value"
    return "label_inside_text" if label in text else ""


def _letters(text: str) -> str:
    return _NOT_LETTER.sub("", text.casefold())


def _closing_array(text: str, field: Mapping[str, Any]) -> tuple[tuple[str | None, str], dict[str, Any]]:
    """The JSON array that ends the reply."""
    text = text.rstrip()
    notes: dict[str, Any] = {}
    if text.endswith("```"):
        text, notes = text[:-3].rstrip(), {"fenced": True}
    start = text.rfind("[")
    if not text.endswith("]"):
        return (None, "text_after" if start >= 0 and "]" in text[start:] else "no_array"), {}
    if start < 0:
        return (None, "no_array"), {}
    return value_in(text[start:], field), notes


def value_in(text: str, field: Mapping[str, Any]) -> tuple[str | None, str]:
    """(canonical value, "") or (None, kind of slip) of one value in the field's space."""
    text = text.strip()
    if not text:
        return None, "empty_value"
    if len(text) > _LONGEST:
        return None, "out_of_space"
    if text.startswith("<") and text.endswith(">"):
        return None, "prompt_echo"
    if field["space"] == "set":
        return _set(text, field)
    if field["space"] == "integer":
        return _integer(text)
    return _choice(text, field["values"])


def _choice(text: str, values: Sequence[str]) -> tuple[str | None, str]:
    by_case = {v.casefold(): v for v in values}
    if text in values:
        return text, ""
    if text.casefold() in by_case:
        return by_case[text.casefold()], ""
    plain = text.strip(_EDGE).casefold()
    if plain in by_case:
        return None, "value_markup"
    first = re.split(r"[^\w-]", plain, maxsplit=1)[0]
    return None, "value_with_text" if first in by_case else "out_of_space"


def _integer(text: str) -> tuple[str | None, str]:
    if _INTEGER.fullmatch(text):
        return str(int(text)), ""
    if _INTEGER.fullmatch(text.strip(_EDGE)):
        return None, "value_markup"
    return None, "value_with_text" if _NUMBER_AND_TEXT.fullmatch(text) else "out_of_space"


def _set(text: str, field: Mapping[str, Any]) -> tuple[str | None, str]:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        start, end = text.find("["), text.rfind("]")
        if start >= 0 and end > start and (start > 0 or end < len(text) - 1):
            return None, "value_with_text"
        return None, "not_json"
    if not isinstance(said, list) or not all(isinstance(member, str) for member in said):
        return None, "not_json"
    by_case = {m.casefold(): m for m in field["members"]}
    found = {by_case.get(member.strip().casefold()) for member in said}
    if None in found or len(found) < field.get("min", 0):
        return None, "out_of_space"
    return json.dumps(sorted(found), ensure_ascii=False, separators=(",", ":")), ""  # type: ignore[type-var]
