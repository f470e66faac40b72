"""What is compared: one arm a run and model, on the requests that all arms have a reply to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from ..errors import RunError, near
from ..outcome import LOST, Outcome
from ..report.evidence import Evidence
from ..report.evidence import read as read_evidence
from ..report.recorded import Recorded

Match = Literal["requests", "instances"]
Place = tuple[str, str, str, str, str, str, int]
DECLARED = {"readout", "prompt", "sampling"}
"""Fields of a request that the declaration of a model decides, the prompt by the form that its readout asks for."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One model in one run.

    Attributes:
        label: names the arm in tables; unique in a comparison.
        outcomes: as recorded, or those that all arms share.
        folder: of the run, for links and for what was asked; None for a baseline.
        left_out: requests of this arm that are lost, or that another arm has no reply to.
        note: how it was asked otherwise than the first arm of the comparison, by the declaration of its model.
    """

    label: str
    run: str
    model: str
    outcomes: tuple[Outcome, ...]
    folder: Path | None = None
    left_out: int = 0
    note: str = ""


def place(o: Outcome) -> Place:
    """The request key without the model."""
    return o.spec, o.task, o.instance, o.variant, o.view, o.template, o.repeat


def _question(o: Outcome) -> tuple[str, str, str, str, str, int]:
    """What is asked, whatever the words around it: the key without model and template."""
    return o.spec, o.task, o.instance, o.variant, o.view, o.repeat


def arms_of(runs: Sequence[tuple[Recorded, Path | None]], models: Sequence[str] = ()) -> list[Arm]:
    """An arm for each model of each run, in the order in which they were named; of these models only, where some are.

    Raises:
        RunError: a named model that no run has.
    """
    found = []
    for recorded, folder in runs:
        by_model: dict[str, list[Outcome]] = {}
        for o in recorded.outcomes:
            by_model.setdefault(o.model, []).append(o)
        named = [m for m in models or recorded.run["models"] if m in by_model]
        found += [
            Arm("", str(recorded.run.get("id", "")), m, tuple(by_model[m]), folder)
            for m in dict.fromkeys([*named, *([] if models else sorted(by_model))])
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
    """The arms with the requests that all of them have a reply to; with ``instances``, whatever prompts these had.

    A reply that cannot be read is a result and stays. A lost request says nothing of its model: it counts for no arm, or
    the model would look better or worse by the questions that happen to be missing.

    Models may be sampled differently: that is part of the model, and noted.

    Raises:
        RunError: nothing is shared; or, matching requests, two arms were asked different things under one key. Names the
            first such key and what differs. Models may be sampled differently, and those of one run may be read
            differently too: they declare it, and it is noted.
    """
    where = _question if match == "instances" else place
    replied = [tuple(o for o in a.outcomes if o.status != LOST) for a in arms]
    shared: set[Any] = set.intersection(*({where(o) for o in rows} for rows in replied))
    if not shared:
        raise RunError(_nothing(arms))
    kept = [tuple(o for o in rows if where(o) in shared) for rows in replied]
    out = [
        replace(a, outcomes=rows, left_out=a.left_out + len(a.outcomes) - len(rows))
        for a, rows in zip(arms, kept, strict=True)
    ]
    if match == "requests":
        kept = cache(read_evidence)
        out[1:] = [replace(arm, note=_same_requests(out[0], arm, kept)) for arm in out[1:]]
    return out


def _nothing(arms: Sequence[Arm]) -> str:
    for arm in arms:
        if all(o.status == LOST for o in arm.outcomes):
            return (
                f"all {len(arm.outcomes):,} requests of {arm.label} are lost; run again with the same run id to complete "
                f"the run"
            )
    first = arms[0]
    for arm in arms[1:]:
        ours, theirs = ({o.spec for o in a.outcomes} for a in (first, arm))
        if not ours & theirs:
            return (
                f"{first.label} and {arm.label} share no request: they are of the specs {', '.join(sorted(ours))} and "
                f"{', '.join(sorted(theirs))}; compare runs of one spec"
            )
    return f"{' and '.join(a.label for a in arms)} share no request; compare runs with the same views and --limit"


def _same_requests(first: Arm, other: Arm, kept: Callable[[Path], Evidence]) -> str:
    """In words, what the two models declare differently; empty where they were asked the same, byte for byte."""
    asked, fields, said = {place(o): o for o in first.outcomes}, set[str](), dict[str, None]()
    for o in sorted(other.outcomes, key=place):
        ours = asked[place(o)]
        a, b = ours.request_sha256, o.request_sha256
        size = min(len(a), len(b))  # a baseline keeps the head of a hash
        if not size or a[:size] == b[:size]:
            continue
        contents = _contents(first, ours, kept), _contents(other, o, kept)
        declared = _declared(ours, o, *contents, same_run=bool(first.folder and first.folder == other.folder))
        if not declared:
            raise RunError(
                f"{'/'.join(map(str, place(o)))}: {first.label} and {other.label} were asked different things: "
                f"{_difference(ours, o, *contents)}; compare runs of the same prompts, or add --match instances"
            )
        fields |= declared.keys()
        said |= dict.fromkeys(declared.values())
    if not fields:
        return ""
    return (
        f"{other.label} is declared with another {' and another '.join(sorted(fields))} than {first.label} "
        f"({'; '.join(said)}): their difference is one of model and {' and '.join(sorted(fields))}"
    )


def _contents(arm: Arm, o: Outcome, kept: Callable[[Path], Evidence]) -> Mapping[str, Any] | None:
    """What a request held, with the texts of its evidence; None where the run did not keep it."""
    if not arm.folder:
        return None
    evidence = kept(arm.folder)
    content = evidence.requests.get(o.request_sha256)
    if content is None:
        return None
    parts = [evidence.texts.get(p["text"], "") if "text" in p else p for p in content.get("evidence", ())]
    return {**content, "evidence": parts}


def _declared(
    ours: Outcome, theirs: Outcome, a: Mapping[str, Any] | None, b: Mapping[str, Any] | None, same_run: bool
) -> dict[str, str]:
    """What of sampling, and of readout within one run, differs between two requests that ask the same question, with
    the two values in words; empty where more than these differs. One run builds all its requests from the same specs,
    so readouts suffice where none was kept."""
    if a is None or b is None:
        same = ours.readout == theirs.readout or (ours.options, ours.expected) != (theirs.options, theirs.expected)
        return {"readout": _values(ours.readout, theirs.readout)} if same_run and not same else {}
    fields = {name for name in {*a, *b} if a.get(name) != b.get(name)}
    if fields - DECLARED or (not same_run and fields - {"sampling"}) or ("prompt" in fields and "readout" not in fields):
        return {}
    return {name: _values(a.get(name), b.get(name)) for name in sorted(fields - {"prompt"})}


def _values(ours: Any, theirs: Any) -> str:
    return f"{theirs!r}, not {ours!r}"


def _difference(ours: Outcome, theirs: Outcome, a: Mapping[str, Any] | None, b: Mapping[str, Any] | None) -> str:
    """The first field that differs, from what the runs kept, else from the outcomes."""
    if a is not None and b is not None:
        return _first_field(a, b)
    for column in ("readout", "options", "expected"):
        one, two = getattr(ours, column), getattr(theirs, column)
        if one and two and one != two:
            return f"{column} {one!r} against {two!r}"
    return f"their requests have the hashes {ours.request_sha256[:12]} and {theirs.request_sha256[:12]}"


def _first_field(a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    """Of what is asked, before how it is asked."""
    for name in ("system", "evidence", "question", "options", "companions", "readout", "prompt", "answer", "sampling"):
        if a.get(name) != b.get(name):
            one, two = str(a.get(name)), str(b.get(name))
            at = next((i for i, (x, y) in enumerate(zip(one, two, strict=False)) if x != y), min(len(one), len(two)))
            start = max(0, at - 20)
            return f"{name}, at character {at}: {one[start : at + 40]!r} against {two[start : at + 40]!r}"
    return "fields that only one of the versions writes"
