"""A recorded run as one row a request, and several runs as one.

Of several outcomes of one key the last that came from the model counts; keys without an outcome are ``lost``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import RunError
from ..outcome import LOST, Outcome
from ..probe import RequestKey
from ..rows import unique
from .run import RUN, read_keys, read_outcomes, read_run

EACH = "*"
SHAPE: dict[str, Any] = {
    "seed": int, "resamples": int, "interval": str, "gate": str, "packages": {}, "notes": [str],
    "specs": {EACH: {"dataset": {}, "tables": [str]}}, "models": {EACH: {}},
}
"""What stands in run.json where readers look into it; each may be absent or null. EACH stands for all names."""
_SAID = {dict: "an object", list: "a list", str: "text", int: "a whole number"}


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run as read from its folder, or several merged. ``notes`` say what was odd about the files."""

    run: Mapping[str, Any]
    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...] = ()


def load(folder: Path) -> Recorded:
    """A run with one outcome for each of its keys, those without a reply as ``lost``.

    Raises:
        RunError: see :func:`read_run`, :func:`read_outcomes`, :func:`read_keys`; or run.json is not of ``SHAPE``.
    """
    run = read_run(folder)
    _check(run, SHAPE, f"{folder / RUN}: ")
    rows, notes = read_outcomes(folder)
    outcomes = unique(rows)
    if len(outcomes) < len(rows):
        notes.append(f"{len(rows) - len(outcomes)} requests were recorded more than once; the last reply counts")
    outcomes += lost_outcomes(read_keys(folder), outcomes)
    lost = sum(o.status == LOST for o in outcomes)
    if lost:
        notes.append(f"{lost} of {len(outcomes)} requests have no reply and are lost; run again with the same run id "
                     "to complete them")
    return Recorded(run, tuple(outcomes), tuple(notes))


def _check(value: Any, shape: Any, place: str) -> None:
    kind = type(shape) if isinstance(shape, dict | list) else shape
    if not isinstance(value, kind):
        raise RunError(f"{place}{value!r:.60} is not {_SAID[kind]}; restore it, or run again")
    if isinstance(shape, list):
        for i, inner in enumerate(value):
            _check(inner, shape[0], f"{place}{i}: ")
    elif isinstance(shape, dict):
        for name in value if EACH in shape else shape:
            if value.get(name) is not None:
                _check(value[name], shape.get(EACH, shape.get(name)), f"{place}{name}: ")


def lost_outcomes(expected: Iterable[str], outcomes: Sequence[Outcome]) -> list[Outcome]:
    """A ``lost`` outcome for each expected key without one (see :func:`read_keys`). What tables and gates filter by is taken
    from the other views of the same variant and from the other variants in the same view, as far as there are any."""
    have = {o.key for o in outcomes}
    missing = sorted(set(expected) - have)
    if not missing:
        return []
    variants: dict[tuple[str, ...], Outcome] = {}
    views: dict[tuple[str, str], Outcome] = {}
    for o in sorted(outcomes, key=lambda o: o.core):  # the last stays: a core row says most about variant and view
        variants[o.spec, o.task, o.instance, o.variant] = variants[o.spec, o.task, o.variant] = o
        views[o.spec, o.view] = o
    return [_lost(text, variants, views) for text in missing]


def _lost(text: str, variants: Mapping[tuple[str, ...], Outcome], views: Mapping[tuple[str, str], Outcome]) -> Outcome:
    key = RequestKey.parse(text)
    asked = variants.get((key.spec, key.task, key.instance, key.variant)) or variants.get(
        (key.spec, key.task, key.variant))
    shown = views.get((key.spec, key.view))
    return Outcome(
        key=text, spec=key.spec, task=key.task, instance=key.instance, variant=key.variant, view=key.view,
        template=key.template, model=key.model, repeat=key.repeat, status=LOST,
        dataset=asked.dataset if asked else "",
        cluster=asked.cluster if asked and asked.instance == key.instance else key.instance,
        relation=asked.relation if asked else "", core=bool(asked and shown and asked.core and shown.core),
        wording=asked.wording if asked else "", direction=asked.direction if asked else "",
        cut=asked.cut if asked else "", deletion=asked.deletion if asked else "", regime=asked.regime if asked else "",
        modality=shown.modality if shown else "", unit=shown.unit if shown else "", order=shown.order if shown else "",
        choice=None, expected="", correct=None, abstained=None, error="no reply was recorded",
    )


def merge(runs: Sequence[Recorded]) -> Recorded:
    """Several runs as one: shards, or models asked at different times.

    Where a key is in several, the last run named counts, unless only an earlier one has a reply.

    Raises:
        RunError: no run; or the runs used different versions of one spec, which are not the same questions.
    """
    if not runs:
        raise RunError("no run to report; name at least one run folder")
    if len(runs) == 1:
        return runs[0]
    specs: dict[str, Any] = {}
    models: dict[str, Any] = {}
    notes: list[str] = []
    for recorded in runs:
        for name, spec in recorded.run["specs"].items():
            if name in specs and _hash(specs[name]) != _hash(spec):
                raise RunError(f"run {recorded.run['id']!r}: spec {name!r} is another version ({_hash(spec)[:12]}) "
                               f"than in the runs before it ({_hash(specs[name])[:12]}); report the runs apart")
            specs.setdefault(name, spec)
        for name, model in recorded.run["models"].items():
            if name in models and models[name] != model:
                notes.append(f"model {name}: configured differently in run {recorded.run['id']}")
            models.setdefault(name, model)
        notes += [f"run {recorded.run['id']}: {note}" for note in recorded.notes]
        if recorded.run.get("packages") != runs[0].run.get("packages"):
            notes.append(f"run {recorded.run['id']}: other package versions than run {runs[0].run['id']}")
    rows = [o for recorded in runs for o in recorded.outcomes]
    outcomes = unique(rows)
    if len(outcomes) < len(rows):
        notes.append(f"{len(rows) - len(outcomes)} requests are in several runs; the last run named counts")
    first = runs[0].run
    names = [str(recorded.run["id"]) for recorded in runs]
    run = {**first, "id": " + ".join(names), "runs": names, "specs": specs, "models": models}
    return Recorded(run, tuple(outcomes), tuple(notes))


def _hash(spec: Any) -> str:
    return str(spec.get("sha256", "")) if isinstance(spec, Mapping) else ""
