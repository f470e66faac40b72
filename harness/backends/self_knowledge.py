"""Scripted models with a known self-knowledge: the controls of the modality suites.

Each has an *executed* behaviour, what it answers from each set of inputs, and a *stated* one, what it says about it.
The executed answers are those that the inputs support where the data know them by construction, else the expected
answer; on top of that, options plant how often an input alone is misread and how often the assessment prompt moves an
answer. The stated side follows from two rates: ``hit``, how often it owns up to a change that there is, and ``alarm``,
how often it claims one that there is not.

    copy_answer         hit 0, alarm 0      always repeats its answer: predicted change 0, never insufficient
    ideal_self_knower   hit 1, alarm 0      calibration gap 0, precision and recall 1, stated = executed
    over_claimer        hit 0.25, alarm 0   recall of insufficiency is ``hit``; the rest are silent failures
    under_claimer       hit 1, alarm 0.4    flags ``alarm`` of the unchanged items too: the gap is negative

Options, beside those of ``harness.backends.scripted`` and the two rates:

    change   share of items on which an input alone gives another answer (a number, or input -> number; default 0)
    moved    share of assessment replies whose answer the prompt itself moves (default 0)
    sloppy   share of assessment replies whose last label is miswritten, as models do (default 0)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..probe import Request, Response
from .replies import FREE

if TYPE_CHECKING:
    from .scripted import Draw


def copy_answer(request: Request, options: Mapping[str, Any], draw: Draw) -> Response:
    """Claims that nothing it could be shown would change its answer."""
    return _reply(request, options, draw, 0.0, 0.0)


def ideal_self_knower(request: Request, options: Mapping[str, Any], draw: Draw) -> Response:
    """Knows what it would answer from every set of inputs."""
    return _reply(request, options, draw, 1.0, 0.0)


def over_claimer(request: Request, options: Mapping[str, Any], draw: Draw) -> Response:
    """Overstates sufficiency: owns up to ``hit`` of the changes."""
    return _reply(request, options, draw, options.get("hit", 0.25), options.get("alarm", 0.0))


def under_claimer(request: Request, options: Mapping[str, Any], draw: Draw) -> Response:
    """Understates sufficiency: claims a change on ``alarm`` of the items where there is none."""
    return _reply(request, options, draw, options.get("hit", 1.0), options.get("alarm", 0.4))


def executed(request: Request, options: Mapping[str, Any], draw: Draw, arm: str) -> str:
    """What the model answers from the inputs of ``arm`` under the plain template, whatever this request shows."""
    expected, facts = request.truth.expected, request.truth.facts
    said = str(facts.get("answers", {}).get(arm, expected))
    if arm in ("both", ""):
        return said
    change = options.get("change", 0.0)
    rate = change.get(arm, 0.0) if isinstance(change, Mapping) else change
    where = f"right {request.key.spec} {_owner(request, arm)} {arm}"
    return another(request, draw, where, said) if draw(f"{where} change") < rate else said


def another(request: Request, draw: Draw, where: str, *not_these: str) -> str:
    """An answer of the space that is neither one of these nor the expected one, where the space has such a one."""
    space, taken = request.answer, {*not_these, request.truth.expected}
    if space["space"] == "integer":
        start = int(not_these[0]) + 1
        return str(next(n for n in range(start, start + len(taken) + 1) if str(n) not in taken))
    if space["space"] == "set":
        # one member added or dropped: the smallest change of a set
        said, members = set(json.loads(not_these[0])), list(space["members"])
        start = int(draw(f"{where} which") * len(members))
        for i in range(len(members)):
            changed = said ^ {members[(start + i) % len(members)]}
            text = json.dumps(sorted(changed), ensure_ascii=False, separators=(",", ":"))
            if len(changed) >= space.get("min", 0) and text not in taken:
                return text
        return not_these[0]
    left = [v for v in space["values"] if v not in taken] or [v for v in space["values"] if v not in not_these]
    return str(left[int(draw(f"{where} which") * len(left))])


def _owner(request: Request, arm: str) -> str:
    """Whose generation it is: the item's, or for a shared input that of its cluster."""
    return request.truth.cluster if arm in request.truth.facts.get("once", ()) else request.key.instance


def _reply(request: Request, options: Mapping[str, Any], draw: Draw, hit: float, alarm: float) -> Response:
    fields = request.answer.get("lines") or [{"label": "ANSWER", "about": "answer"}]
    arm = str(request.truth.facts.get("arm", ""))
    answer = executed(request, options, draw, arm)
    if len(fields) == 1:
        return _write([(fields[0]["label"], answer)], "")
    if draw("moved") < options.get("moved", 0.0):
        answer = another(request, draw, "moved", answer)
    said = {"answer": answer, **_claims(request, options, draw, arm, answer, hit, alarm)}
    rows = [(f["label"], said[f["about"]]) for f in fields]
    slip = draw("sloppy") < options.get("sloppy", 0.0)
    return _write(rows, ("bare" if rows[-1][0] == "SUFFICIENCY" else "prose") if slip else "")


def _claims(request: Request, options: Mapping[str, Any], draw: Draw, arm: str, answer: str, hit: float,
            alarm: float) -> dict[str, str]:
    """Stated answers for the sets of inputs that were not shown, and the flag."""
    if arm == "both":
        inputs = request.truth.facts.get("inputs", ())
        return {name: _stated(request, draw, name, answer, executed(request, options, draw, name), hit, alarm)
                for name in inputs}
    stated = _stated(request, draw, "both", answer, executed(request, options, draw, "both"), hit, alarm)
    return {"both": stated, "sufficiency": "SUFFICIENT" if stated == answer else "INSUFFICIENT"}


def _stated(request: Request, draw: Draw, about: str, answer: str, truth: str, hit: float, alarm: float) -> str:
    if truth != answer:
        return truth if draw(f"{about} hit") < hit else answer
    return another(request, draw, f"{about} false", answer) if draw(f"{about} false") < alarm else answer


def _write(rows: list[tuple[str, str]], slip: str) -> Response:
    lines = [f"{label}: {value}" if label else value for label, value in rows]
    if slip == "bare":
        lines[-1] = rows[-1][1]
    elif slip == "prose":
        lines[-1] = f"{rows[-1][0].replace('_', ' ').capitalize()}: {rows[-1][1]}"
    head = ["I looked at what was supplied and say below what it comes to.", ""] if rows[0][0] else []
    return Response(text="\n".join([*head, *lines]), usage=FREE)
