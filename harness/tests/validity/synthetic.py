"""Synthetic outcomes for tests of the analysis: single rows, and whole suites answered by a responder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from harness.outcome import Outcome
from harness.probe import ABSTAIN

TABLES = ("table_nm", "table_um", "table_sci", "table_ev")
PLOTS = ("plot_nm", "plot_ev")
VIEWS = TABLES + PLOTS


def row(**given: Any) -> Outcome:
    """An outcome with the given columns; the key follows them, and so do correct and abstained of a usable row."""
    defaults: dict[str, Any] = {
        "spec": "s",
        "dataset": "d",
        "task": "compare",
        "instance": "i0",
        "cluster": "",
        "variant": "v0",
        "relation": "same",
        "core": True,
        "view": "table_nm",
        "unit": "",
        "order": "",
        "template": "plain",
        "model": "m",
        "repeat": 0,
        "status": "usable",
        "choice": "A",
        "expected": "A",
    }
    columns = {**defaults, **given}
    usable = columns["status"] == "usable"
    columns["choice"] = columns["choice"] if usable else None
    columns.setdefault("modality", columns["view"].split("_")[0])
    columns.setdefault("correct", columns["choice"] == columns["expected"] if usable else None)
    columns.setdefault("abstained", columns["choice"] == ABSTAIN if usable else None)
    columns.setdefault(
        "key",
        "/".join(
            str(columns[c]) for c in ("spec", "task", "instance", "variant", "view", "template", "repeat", "model")
        ),
    )
    return Outcome(**columns)


@dataclass(frozen=True)
class Question:
    """What a responder may look at."""

    task: str
    instance: str
    variant: str
    view: str
    expected: str
    wrong: tuple[str, ...]
    first: str = ""
    decoy: str = ""
    cut: str = ""
    deletion: str = ""
    wording: str = ""
    direction: str = ""
    core: bool = True

    @property
    def energy_axis(self) -> bool:
        return "_ev" in self.view


Responder = Callable[[Question, np.random.Generator], "str | Outcome | None"]
"""Gives the chosen key; None for a reply that cannot be read."""


def questions(n: int = 48, views: tuple[str, ...] = VIEWS, scope: bool = False) -> Iterator[Question]:
    """The design of the main set (n instances a task; with 48: 528 core variants, 3,552 requests) or of a scope set."""
    bands = ("b0", "b1", "b2", "b3")
    for i, view in product(range(n), views):
        band, decoy = bands[i % 4], bands[(i + 1) % 4]
        others = tuple(b for b in bands if b != band)
        deletion = ("long", "short", "middle")[i % 3]
        if scope:
            for cut in ("full", "outside", "inside"):
                inside = cut == "inside"
                yield Question(
                    "scope",
                    f"suffq-{i:03}",
                    cut,
                    view,
                    ABSTAIN if inside else band,
                    bands if inside else (*others, ABSTAIN),
                    decoy=decoy if inside else "",
                    cut=cut,
                    deletion=deletion,
                )
            continue
        for direction in ("minimum", "maximum"):
            yield Question("extreme", f"extreme-{i:03}", direction, view, band, others, direction=direction)
        for k, correct in enumerate("ABC"):
            wrong = "ABC".replace(correct, "")
            yield Question(
                "specification", f"specification-{i:03}", f"rotation-{k}", view, correct, tuple(wrong), decoy=wrong[0]
            )
        for cut in ("full", "inside"):
            inside = cut == "inside"
            yield Question(
                "sufficiency",
                f"suff-{i:03}",
                cut,
                view,
                ABSTAIN if inside else band,
                bands if inside else (*others, ABSTAIN),
                decoy=decoy if inside else "",
                cut=cut,
                deletion=deletion,
            )
        for order, direction, wording in product(("orig", "swap"), ("longer", "shorter"), ("wavelength", "energy")):
            if wording == "energy" and "_ev" not in view:
                continue
            correct = "A" if (order == "orig") == (direction == "longer") else "B"
            word = "wavelength" if wording == "wavelength" else "axis"
            yield Question(
                "compare",
                f"compare-{i:03}",
                f"{order}-{direction}-{word}",
                view,
                correct,
                ("B" if correct == "A" else "A",),
                first="A",
                wording=wording,
                direction=direction,
                core=wording == "wavelength",
            )


def answered(
    responder: Responder,
    *,
    spec: str = "metasurface-main",
    model: str = "m",
    seed: int = 0,
    n: int = 48,
    views: tuple[str, ...] = VIEWS,
    scope: bool = False,
    repeats: int = 1,
) -> list[Outcome]:
    """All questions of a set answered by ``responder``."""
    random = np.random.default_rng(seed)
    made = []
    for repeat, q in product(range(repeats), questions(n, views, scope)):
        choice = responder(q, random)
        outcome = row(
            spec=spec,
            dataset="metasurface",
            task=q.task,
            instance=q.instance,
            variant=q.variant,
            view=q.view,
            core=q.core and q.view != "table_ev_desc",
            unit="eV" if q.energy_axis else "nm",
            model=model,
            repeat=repeat,
            status="unparsed" if choice is None else "usable",
            choice=choice,
            expected=q.expected,
            first=q.first,
            decoy=q.decoy,
            cut=q.cut,
            deletion=q.deletion,
            wording=q.wording,
            direction=q.direction,
            relation="abstain" if q.expected == ABSTAIN else "same",
            facts={"simulated": True},
        )
        made.append(outcome)
    return made


def oracle(q: Question, random: np.random.Generator) -> str:
    return q.expected


def right_with(p: float | Callable[[Question], float]) -> Responder:
    """Correct with probability p, else a wrong option at random."""

    def respond(q: Question, random: np.random.Generator) -> str:
        chance = p(q) if callable(p) else p
        return q.expected if random.random() < chance else str(random.choice(q.wrong))

    return respond


def with_confidence(
    outcomes: list[Outcome], confidence: Callable[[Outcome], float], kind: str = "readout"
) -> list[Outcome]:
    """The outcomes with a probability for the choice, the rest of it on one other option."""
    made = []
    for o in outcomes:
        if o.choice is None:
            made.append(o)
            continue
        p = confidence(o)
        other = o.expected if o.choice != o.expected else "other"
        made.append(replace(o, confidence=p, probabilities={o.choice: p, other: 1 - p}, probability_kind=kind))
    return made
