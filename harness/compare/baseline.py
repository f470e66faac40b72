"""A run as a small JSON file that a repository can hold: decisions and hashes, without questions or truths.

What was right is taken from the run that is compared with it: a request with the same hash has the same answer. One
instance stands on one line, so that a diff of two baselines shows which instances changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import RunError
from ..outcome import Outcome
from ..probe import ABSTAIN, RequestKey
from ..report.recorded import Recorded
from ..report.run import replace_file
from .arms import Arm

VERSION = 1
HASH = 12
"""Characters kept of a request's SHA-256."""


def save(path: Path, recorded: Recorded) -> None:
    """Write the baseline of a run.

    Raises:
        RunError: requests of the run are lost, or the file cannot be written.
    """
    lost = sum(o.status == "lost" for o in recorded.outcomes)
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


def arms_against(path: Path, arms: Sequence[Arm]) -> list[tuple[Arm, Arm]]:
    """(baseline, arm) for each arm of a run, by model; one model against one whatever their names.

    Raises:
        RunError: no such file, not a baseline, or none of the models in it.
    """
    data = _read(path)
    held: dict[str, list[Any]] = {}
    for entry in data["instances"]:
        held.setdefault(entry[0], []).append(entry[1:])
    made = []
    for arm in arms:
        name = arm.model if arm.model in held else next(iter(held)) if len(held) == len(arms) == 1 else ""
        if not name:
            raise RunError(
                f"{path}: holds no model {arm.model!r}, only {', '.join(sorted(held))}; save a baseline of it with "
                f"--save-baseline, or choose with --model"
            )
        rows = _outcomes(path, name, held[name], arm)
        made.append((Arm(f"baseline {data['run']}", str(data["run"]), name, rows), arm))
    return made


def _read(path: Path) -> Mapping[str, Any]:
    try:
        data = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise RunError(f"{path}: no such baseline; make one with isoprobe compare --save-baseline {path} RUN") from None
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: cannot be read as JSON ({error}); save the baseline again") from None
    if (
        not isinstance(data, dict)
        or data.get("isoprobe_baseline") != VERSION
        or not isinstance(data.get("instances"), list)
    ):
        raise RunError(f"{path}: is not a baseline of version {VERSION}; make one with --save-baseline")
    return data


def _outcomes(path: Path, model: str, entries: Sequence[Any], arm: Arm) -> tuple[Outcome, ...]:
    """The baseline's decisions on the requests of the arm; others have no truth here and are left out."""
    now = {(o.spec, o.task, o.instance, o.variant, f"{o.view}/{o.template}/{o.repeat}"): o for o in arm.outcomes}
    made = []
    try:
        for spec, task, instance, variants in entries:
            for variant, cells in variants.items():
                for cell, (choice, sha, *rest) in cells.items():
                    o = now.get((spec, task, instance, variant, cell))
                    if o is not None:
                        made.append(_outcome(o, model, choice, sha, rest[0] if rest else {}))
    except (TypeError, ValueError, AttributeError) as error:
        raise RunError(
            f"{path}: an instance is not as this version writes it ({error}); save the baseline again"
        ) from None
    return tuple(made)


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
