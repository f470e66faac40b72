"""What is compared: one arm a run and model, on the requests that all arms were asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ..errors import RunError, near
from ..outcome import Outcome
from ..report.evidence import Evidence
from ..report.evidence import read as read_evidence
from ..report.recorded import Recorded

Match = Literal["requests", "instances"]
Place = tuple[str, str, str, str, str, str, int]


@dataclass(frozen=True, slots=True)
class Arm:
    """One model in one run.

    Attributes:
        label: names the arm in tables; unique in a comparison.
        outcomes: as recorded, or those that all arms share.
        folder: of the run, for links and for what was asked; None for a baseline.
        left_out: requests of this arm that another lacks.
        notes: what a reader must know of its differences from the first arm.
    """

    label: str
    run: str
    model: str
    outcomes: tuple[Outcome, ...]
    folder: Path | None = None
    left_out: int = 0
    notes: tuple[str, ...] = ()


def place(o: Outcome) -> Place:
    """The request key without the model."""
    return o.spec, o.task, o.instance, o.variant, o.view, o.template, o.repeat


def arms_of(runs: Sequence[tuple[Recorded, Path | None]], models: Sequence[str] = ()) -> list[Arm]:
    """An arm for each model of each run, in their order; of these models only, where some are named.

    Raises:
        RunError: a named model that no run has.
    """
    found = []
    for recorded, folder in runs:
        by_model: dict[str, list[Outcome]] = {}
        for o in recorded.outcomes:
            by_model.setdefault(o.model, []).append(o)
        found += [
            Arm("", str(recorded.run.get("id", "")), m, tuple(rows), folder)
            for m, rows in sorted(by_model.items())
            if not models or m in models
        ]
    known = sorted({o.model for recorded, _ in runs for o in recorded.outcomes})
    for name in models:
        if name not in known:
            raise RunError(f"--model {name!r}: no such model in these runs{near(name, known)}")
    return _labelled(found)


def _labelled(arms: Sequence[Arm]) -> list[Arm]:
    """Short labels: the model where it says enough, else the run, else both."""
    models, runs = [a.model for a in arms], [a.run for a in arms]
    if len(set(models)) == len(models):
        labels = models
    elif len(set(runs)) == len(runs):
        labels = runs
    else:
        labels = [f"{a.run}: {a.model}" for a in arms]
    taken: dict[str, int] = {}
    out = []
    for arm, label in zip(arms, labels, strict=True):
        taken[label] = taken.get(label, 0) + 1
        out.append(replace(arm, label=label if taken[label] == 1 else f"{label} ({taken[label]})"))
    return out


def comparisons(arms: Sequence[Arm]) -> list[list[Arm]]:
    """Which arms stand against which: model by model where all runs have the same several models, else all against the
    first.

    Raises:
        RunError: fewer than two arms.
    """
    if len(arms) < 2:
        raise RunError("there is one arm only; name two runs, or a run of several models")
    sets: dict[tuple[str, str], list[str]] = {}
    for arm in arms:
        sets.setdefault((arm.run, str(arm.folder)), []).append(arm.model)
    models = list(sets.values())
    if len(models) > 1 and len(models[0]) > 1 and all(m == models[0] for m in models):
        return [_labelled([a for a in arms if a.model == model]) for model in models[0]]
    return [list(arms)]


def matched(arms: Sequence[Arm], match: Match = "requests") -> list[Arm]:
    """The arms with the requests that all of them were asked; with ``instances``, with the instances they share.

    Models may be sampled differently: that is part of the model, and noted.

    Raises:
        RunError: nothing is shared; or, matching requests, two arms were asked different things under one key. Names
            the first such key and what differs.
    """
    if match == "instances":
        shared: set[Any] = set.intersection(*({(o.spec, o.task, o.instance) for o in a.outcomes} for a in arms))
        kept = [tuple(o for o in a.outcomes if (o.spec, o.task, o.instance) in shared) for a in arms]
    else:
        shared = set.intersection(*({place(o) for o in a.outcomes} for a in arms))
        kept = [tuple(o for o in a.outcomes if place(o) in shared) for a in arms]
    if not shared:
        raise RunError(_nothing(arms))
    out = [replace(a, outcomes=rows, left_out=len(a.outcomes) - len(rows)) for a, rows in zip(arms, kept, strict=True)]
    if match == "requests":
        out = [out[0], *(replace(arm, notes=_same_requests(out[0], arm)) for arm in out[1:])]
    return out


def _nothing(arms: Sequence[Arm]) -> str:
    first = arms[0]
    for arm in arms[1:]:
        ours, theirs = ({o.spec for o in a.outcomes} for a in (first, arm))
        if not ours & theirs:
            return (
                f"{first.label} and {arm.label} share no request: they are of the specs {', '.join(sorted(ours))} and "
                f"{', '.join(sorted(theirs))}; compare runs of one spec"
            )
    return f"{' and '.join(a.label for a in arms)} share no request; compare runs with the same views and --limit"


def _same_requests(first: Arm, other: Arm) -> tuple[str, ...]:
    """Refuses different requests, and notes where sampling is all that differs."""
    asked = {place(o): o for o in first.outcomes}
    kept: list[Evidence] = []
    noted = ""
    for o in sorted(other.outcomes, key=place):
        ours = asked[place(o)]
        a, b = ours.request_sha256, o.request_sha256
        size = min(len(a), len(b))  # a baseline keeps the head of a hash
        if not size or a[:size] == b[:size]:
            continue
        kept = kept or [read_evidence(arm.folder) if arm.folder else Evidence() for arm in (first, other)]
        contents = [c for e, row in zip(kept, (ours, o), strict=True) if (c := _content(e, row.request_sha256))]
        if len(contents) == 2 and contents[0] | {"sampling": 0} == contents[1] | {"sampling": 0}:
            noted = noted or (
                f"{first.label} was sampled with {contents[0].get('sampling')}, {other.label} with "
                f"{contents[1].get('sampling')}: a difference is one of models as they were sampled"
            )
            continue
        raise RunError(
            f"{'/'.join(map(str, place(o)))}: {first.label} and {other.label} were asked different things: "
            f"{_difference(ours, o, contents)}; compare runs of the same prompts, or add --match instances"
        )
    return (noted,) if noted else ()


def _content(kept: Evidence, request_sha256: str) -> dict[str, Any]:
    """What a request showed, its texts written out; empty where it was not kept."""
    content = kept.requests.get(request_sha256)
    if content is None:
        return {}
    parts = [kept.texts.get(p["text"], "") if "text" in p else p for p in content.get("evidence", ())]
    return {**content, "evidence": parts}


def _difference(ours: Outcome, theirs: Outcome, contents: Sequence[Mapping[str, Any]]) -> str:
    """The first field that differs, from what the runs kept, else from the outcomes."""
    for column in ("readout", "options", "expected"):
        a, b = getattr(ours, column), getattr(theirs, column)
        if a and b and a != b:
            return f"{column} {a!r} against {b!r}"
    if len(contents) == 2:
        return _first_field(contents[0], contents[1])
    return f"their requests have the hashes {ours.request_sha256[:12]} and {theirs.request_sha256[:12]}"


def _first_field(a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    for name in ("system", "evidence", "question", "options", "prompt", "readout", "answer", "companions"):
        if a.get(name) != b.get(name):
            one, two = str(a.get(name)), str(b.get(name))
            at = next((i for i, (x, y) in enumerate(zip(one, two, strict=False)) if x != y), min(len(one), len(two)))
            start = max(0, at - 20)
            return f"{name}, at character {at}: {one[start : at + 40]!r} against {two[start : at + 40]!r}"
    return "fields that only one of the versions writes"
