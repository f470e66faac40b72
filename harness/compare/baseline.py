"""A run as a small JSON file that a repository can hold: decisions and hashes, without questions or truths.

What was right is taken from the run that is compared with it: a request with the same hash has the same answer. One
instance stands on one line, so that a diff of two baselines shows which instances changed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import RunError
from ..outcome import LOST, STATUSES, Outcome
from ..probe import ABSTAIN, RequestKey
from ..report.recorded import Recorded
from ..report.run import replace_file
from .arms import Arm

VERSION = 1
HASH = 12
"""Characters kept of a request's SHA-256."""
Cells = dict[tuple[str, str, str, str, str], tuple[str | None, str, Mapping[str, Any]]]
"""(spec, task, instance, variant, "view/template/repeat") -> choice, head of the hash, and what else was kept."""


def save(path: Path, recorded: Recorded) -> None:
    """Write the baseline of a run.

    Raises:
        RunError: requests of the run are lost, or it has none, or the file cannot be written.
    """
    if not recorded.outcomes:
        raise RunError(f"run {recorded.run['id']!r} holds no request; a baseline needs the replies of a complete run")
    lost = sum(o.status == LOST for o in recorded.outcomes)
    if lost:
        raise RunError(
            f"{lost} requests of run {recorded.run['id']!r} are lost; complete the run before it becomes a baseline"
        )
    specs = {
        name: {"version": s.get("version"), "sha256": s.get("sha256")} for name, s in recorded.run["specs"].items()
    }
    head = {
        "isoprobe_baseline": VERSION,
        "run": recorded.run["id"],
        "seed": recorded.run.get("seed", 0),
        "specs": specs,
    }
    instances: dict[tuple[str, ...], dict[str, Any]] = {}
    for o in sorted(recorded.outcomes, key=lambda o: (o.model, o.spec, o.task, o.instance, o.variant)):
        rows = instances.setdefault((o.model, o.spec, o.task, o.instance), {})
        rows.setdefault(o.variant, {})[f"{o.view}/{o.template}/{o.repeat}"] = _row(o)
    lines = [json.dumps([*names, rows], separators=(",", ":")) for names, rows in instances.items()]
    text = json.dumps(head, indent=1)[:-2] + ',\n "instances": [\n' + ",\n".join(lines) + "\n ]\n}\n"
    replace_file(path, text.encode())


def _row(o: Outcome) -> list[Any]:
    more: dict[str, Any] = {}
    if o.status != "usable":
        more["status"] = o.status
    if o.probabilities:
        more["p"] = {k: round(v, 4) for k, v in o.probabilities.items()}
        more["kind"] = o.probability_kind
    if o.claims:
        more["claims"] = o.claims
    return [o.choice, o.request_sha256[:HASH], *([more] if more else [])]


def arms_against(
    path: Path, arms: Sequence[Arm], models: Sequence[str] = (), allow_missing: bool = False
) -> tuple[list[tuple[Arm, Arm]], list[str]]:
    """(baseline, arm) for each arm of a run, by model; one model against one whatever their names. And what the run
    lacks to be held to the baseline, a sentence each: what was not measured has not stayed as good.

    Args:
        models: of the run that were named; without names every model of the baseline must be in the run.
        allow_missing: a smaller run is meant. Lost requests still count as lacking, as nobody meant to lose them.

    Raises:
        RunError: no such file, not a baseline, or none of the models in it; or a run without requests.
    """
    if not arms:
        raise RunError("the run holds no request; there is nothing to hold against a baseline")
    run, held = _read(path)
    made, lacking, named = [], [], set()
    for arm in arms:
        name = arm.model if arm.model in held else next(iter(held)) if len(held) == len(arms) == 1 else ""
        if not name:
            raise RunError(
                f"{path}: holds no model {arm.model!r}, only {', '.join(sorted(held))}; save a baseline of it with "
                f"--save-baseline, or choose with --model"
            )
        named.add(name)
        rows, absent, lost = _outcomes(name, held[name], arm)
        of = f"of the baseline's {len(held[name]):,} requests"
        if lost:
            lacking.append(f"{arm.label}: {lost:,} {of} are lost; run again with the same run id to complete the run")
        if absent and not (allow_missing and rows):
            lacking.append(
                f"{arm.label}: {absent:,} {of} are not in the run; ask them too, or add --allow-missing if a smaller "
                f"run is meant"
            )
        if rows:
            made.append((Arm(f"baseline {run}", run, name, rows, left_out=absent + lost), arm))
    if not models and not allow_missing:
        lacking += [
            f"{name}: the run has no such model, of which the baseline holds {len(held[name]):,} requests; ask it too, or "
            f"choose with --model"
            for name in held
            if name not in named
        ]
    return made, lacking


def _read(path: Path) -> tuple[str, dict[str, Cells]]:
    """The name of the run, and what each model decided."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise RunError(f"{path}: no such baseline; make one with isoprobe compare --save-baseline {path} RUN") from None
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{path}: cannot be read as JSON ({error}); save the baseline again") from None
    if (
        not isinstance(data, dict)
        or data.get("isoprobe_baseline") != VERSION
        or not isinstance(data.get("instances"), list)
    ):
        raise RunError(f"{path}: is not a baseline of version {VERSION}; make one with --save-baseline")
    if not data["instances"]:
        raise RunError(f"{path}: holds no request; save the baseline of a complete run with --save-baseline")
    held: dict[str, Cells] = {}
    for i, entry in enumerate(data["instances"]):
        try:
            _add(entry, held)
        except ValueError as error:
            raise RunError(
                f"{path}: instances[{i}] is not as this version writes it ({error}); save the baseline again"
            ) from None
    return str(data.get("run", "")), held


def _add(entry: Any, held: dict[str, Cells]) -> None:
    """One instance to those held. Files in repositories are merged by hand, so nothing is taken for granted."""
    _check(isinstance(entry, list) and len(entry) == 5, "list of model, spec, task, instance and variants", entry)
    model, spec, task, instance, variants = entry
    for name in (model, spec, task, instance):
        _check(isinstance(name, str), "name", name)
    _check(isinstance(variants, dict) and all(isinstance(v, dict) for v in variants.values()), "object", variants)
    for variant, cells in variants.items():
        for cell, kept in cells.items():
            _check(isinstance(kept, list) and len(kept) in (2, 3), "list of decision, hash and more", kept)
            choice, sha, more = [*kept, {}][:3]
            _check(choice is None or isinstance(choice, str), "decision", choice)
            _check(isinstance(sha, str), "hash", sha)
            _check(isinstance(more, dict), "object", more)
            _check(more.get("status", "usable") in STATUSES, "status", more.get("status"))
            _check(isinstance(more.get("kind", ""), str), "kind of probability", more.get("kind"))
            for values in (more.get("p", {}), more.get("claims", {})):
                _check(isinstance(values, dict), "object", values)
            for p in more.get("p", {}).values():
                number = isinstance(p, int | float) and not isinstance(p, bool) and math.isfinite(p)
                _check(number, "probability", p)
            held.setdefault(model, {})[spec, task, instance, variant, cell] = choice, sha, more


def _check(right: bool, name: str, value: Any) -> None:
    if not right:
        raise ValueError(f"{value!r:.60} is no {name}")


def _outcomes(model: str, cells: Cells, arm: Arm) -> tuple[tuple[Outcome, ...], int, int]:
    """The baseline's decisions on the requests that the arm has a reply to; how many others it was not asked, and lost.

    What was right is known from the arm alone, so the others cannot be judged.
    """
    now = {(o.spec, o.task, o.instance, o.variant, f"{o.view}/{o.template}/{o.repeat}"): o for o in arm.outcomes}
    made, absent, lost = [], 0, 0
    for where, (choice, sha, more) in cells.items():
        o = now.get(where)
        if o is None:
            absent += 1
        elif o.status == LOST:
            lost += 1
        else:
            made.append(_outcome(o, model, choice, sha, more))
    return tuple(made), absent, lost


def _outcome(o: Outcome, model: str, choice: str | None, sha: str, more: Mapping[str, Any]) -> Outcome:
    status = more.get("status", "usable")
    usable = status == "usable"
    shares = more.get("p")
    return replace(
        o,
        model=model,
        key=str(replace(RequestKey.parse(o.key), model=model)),
        status=status,
        choice=choice if usable else None,
        correct=choice == o.expected if usable else None,
        abstained=choice == ABSTAIN if usable else None,
        probabilities=shares,
        confidence=shares.get(choice) if shares and choice else None,
        probability_kind=more.get("kind", ""),
        claims=more.get("claims", {}),
        request_sha256=sha,
        missing=[],
        near_misses=[],
        notes={},
        tokens_in=None,
        tokens_out=None,
        tokens_cached=None,
        tokens_reasoning=None,
        cost_usd=None,
        latency_s=None,
        label_mass=None,
        provider="",
        served_model="",
    )
