"""Answers requests of the modality suites from the two messages: text is parsed, drawings are read from their pixels.

For each set of inputs it finds the answer that they support and whether they settle it; from that follow the answer,
the claims about each input alone, and the sufficiency flag. What restoring a withheld input would change it cannot
know, so it repeats its answer there. It does not open ``Request.truth`` or ``Request.key``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import DataError
from ..probe import Part, Request, Response
from . import dials, functions, graphs, signs


@dataclass(frozen=True, slots=True)
class Found:
    """What some inputs support: the canonical answer, and whether they settle it."""

    answer: str
    settled: bool


def answer(request: Request) -> Mapping[str, str] | Response:
    """What each demanded line is about -> its value; a reply with an error where the task is not one it can read.

    Raises:
        DataError: the evidence of a task that it knows cannot be read.
    """
    solve = _solver(request)
    if solve is None:
        return Response(error="the oracle reads no evidence of this kind", finish_reason="error")
    found = solve(request, request.evidence)
    out = {
        "answer": found.answer,
        "both": found.answer,
        "sufficiency": "SUFFICIENT" if found.settled else "INSUFFICIENT",
    }
    for line in request.answer["lines"]:
        if line["about"] not in out:
            out[line["about"]] = solve(request, _only(request.evidence, line["about"])).answer
    return out


def _solver(request: Request) -> Callable[[Request, Sequence[Part]], Found] | None:
    words = request.system
    for cue, solve in (("even, odd, or neither", _parity), ("maximum flow", _maxflow), ("Which gauges", _panels),
                       ("driving-scene", _scenes)):
        if cue in words:
            return solve
    return None


def _only(evidence: Sequence[Part], name: str) -> list[Part]:
    """The parts of one input: all text, all pictures, or a captioned set of them."""
    if name == "text":
        return [p for p in evidence if not p.image]
    if name == "image":
        return [p for p in evidence if p.image]
    caption, inside, out = name.replace("_", " ").casefold(), False, []
    for part in evidence:
        if part.text:
            inside = part.text.casefold().startswith(caption)
        if inside:
            out.append(part)
    return out


def _parity(request: Request, evidence: Sequence[Part]) -> Found:
    for part in evidence:
        if part.text:
            return Found(functions.parity_of_latex(part.text), True)
    return Found(functions.parity_of_plot(_picture(evidence)), True)


def _maxflow(request: Request, evidence: Sequence[Part]) -> Found:
    source, sink = graphs.ends(request.system)
    for part in evidence:
        if part.text:
            return Found(str(graphs.flow(graphs.matrix_of(part.text), source, sink)), True)
    return Found(str(graphs.flow(graphs.matrix_of_drawing(_picture(evidence)), source, sink)), True)


def _panels(request: Request, evidence: Sequence[Part]) -> Found:
    """A gauge counts when its reading and its limits are shown, wherever they stand."""
    members = tuple(request.answer["members"])
    limits: dict[str, tuple[float, float]] = {}
    reading: dict[str, float] = {}
    for part in evidence:
        seen = dials.of_panel(part.image, members) if part.image else dials.of_log(part.text)
        limits |= seen.limits
        reading |= seen.reading
    known = limits.keys() & reading.keys()
    out = sorted(name for name in known if not limits[name][0] <= reading[name] <= limits[name][1])
    return Found(json.dumps(out, separators=(",", ":")), len(known) == len(members))


def _scenes(request: Request, evidence: Sequence[Part]) -> Found:
    said = {o.label: o.key for o in request.options}
    texts = {o.description: o.key for o in request.options} if any(o.description for o in request.options) else said
    value, decisive = signs.read(request.question, [p.image for p in evidence if p.image], tuple(texts))
    return Found(texts[value], decisive)


def _picture(evidence: Sequence[Part]) -> bytes:
    for part in evidence:
        if part.image:
            return part.image
    raise DataError("oracle: no text and no picture")
