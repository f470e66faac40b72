"""The arms of one instance, joined: what each set of inputs made the model answer, and what it claimed of the others.

An outcome of the modality suites says in ``facts["arm"]`` which inputs were supplied: one of ``facts["inputs"]``, or
``both``. Arms are joined on the instance (and model, repeat); a generation that a cluster shares (the poster of a film)
stands for every row of its cluster. A group is scored only when every arm it needs is there and usable.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..bootstrap import total
from ..outcome import LOST, Outcome
from ..rows import Floats, Rows

JOINT = "both"
PLAIN, ASSESSMENT = "plain", "assessment"
INSUFFICIENT = "INSUFFICIENT"
CATEGORIES = ("neither", "first", "second", "either")
"""Values of the attribution delta, formula 1, coded as bit 0 = first input, bit 1 = second."""


@dataclass(frozen=True, slots=True)
class Prospective:
    """One item with one input withheld: y~_A, the claim y^_AB, the flag s_A, and the arms that grade them.

    ``joint``, ``joint_assessed`` and ``alone`` are y_AB, y~_AB and y_A, None where that arm is missing or unusable.
    """

    said: str
    claim: str
    insufficient: bool
    joint: str | None
    joint_assessed: str | None
    alone: str | None

    @property
    def predicted(self) -> bool:
        return self.claim != self.said

    @property
    def common(self) -> bool:
        """All three wirings can be computed."""
        return None not in (self.joint, self.joint_assessed, self.alone)


@dataclass(frozen=True, slots=True)
class Retrospective:
    """One item with both inputs: attributions coded as in CATEGORIES, None where an arm is missing or unusable."""

    stated: int
    executed: int | None
    executed_assessed: int | None


class Arms:
    """All outcomes of the modality suites by instance, template and arm."""

    def __init__(self, outcomes: list[Outcome]):
        self._at: dict[tuple[Any, ...], Outcome] = {}
        members: dict[tuple[Any, ...], set[str]] = defaultdict(set)
        for o in outcomes:
            arm = o.facts.get("arm")
            if not arm or o.status == LOST:
                continue
            self._at[(*_group(o), o.instance, o.template, arm)] = o
            if not o.facts.get("shared"):
                members[(*_group(o), o.cluster)].add(o.instance)
        self._members = {key: sorted(value) for key, value in members.items()}

    def find(self, o: Outcome, instance: str, template: str, arm: str) -> Outcome | None:
        """The outcome of that arm for that instance, or the one its cluster shares."""
        place = _group(o)
        found = self._at.get((*place, instance, template, arm))
        if found is None:
            found = self._at.get((*place, o.cluster, template, arm))
            found = found if found is not None and found.facts.get("shared") else None
        return found

    def answer(self, o: Outcome, instance: str, template: str, arm: str) -> str | None:
        found = self.find(o, instance, template, arm)
        return found.choice if found is not None and found.status == "usable" else None

    def siblings(self, o: Outcome) -> list[str]:
        """The instances that an outcome stands for: its own, or all rows of the cluster that shares it."""
        if not o.facts.get("shared"):
            return [o.instance]
        return self._members.get((*_group(o), o.cluster), [])

    def prospective(self, o: Outcome) -> tuple[Prospective, ...]:
        """One group an item that the outcome stands for; () unless it is a usable single-input assessment."""
        arm = o.facts.get("arm")
        if not arm or arm == JOINT or o.template != ASSESSMENT or o.status != "usable" or JOINT not in o.claims:
            return ()
        return tuple(Prospective(
            str(o.choice), o.claims[JOINT], o.claims.get("sufficiency") == INSUFFICIENT,
            self.answer(o, i, PLAIN, JOINT), self.answer(o, i, ASSESSMENT, JOINT), self.answer(o, i, PLAIN, arm),
        ) for i in self.siblings(o))

    def retrospective(self, o: Outcome) -> Retrospective | None:
        """The attributions of an item; None unless the outcome is a usable joint assessment."""
        names = o.facts.get("inputs", ())
        if o.facts.get("arm") != JOINT or o.template != ASSESSMENT or o.status != "usable":
            return None
        if any(name not in o.claims for name in names):
            return None
        def executed(template: str) -> int | None:
            joint = self.answer(o, o.instance, template, JOINT)
            alone = [self.answer(o, o.instance, template, name) for name in names]
            return None if joint is None or None in alone else _delta(alone, joint)
        stated = _delta([o.claims[name] for name in names], o.choice)
        return Retrospective(stated, executed(PLAIN), executed(ASSESSMENT))


def _group(o: Outcome) -> tuple[str, str, str, int]:
    return o.spec, o.task, o.model, o.repeat


def _delta(alone: list[str | None], joint: str | None) -> int:
    """Formula 1: which inputs' alone-answers reproduce the joint one."""
    return sum(1 << i for i, answer in enumerate(alone) if answer == joint)


# -- as columns ---------------------------------------------------------------------------------------------------


def suite(rows: Rows) -> Rows:
    """The attempted rows of the modality suites."""
    return rows.take(rows.attempted & rows.derived("arms: suite", lambda r: np.array(
        ["arm" in o.facts for o in r.outcomes], bool)))


def singles(rows: Rows) -> Rows:
    """Attempted assessments with one input withheld."""
    return rows.take(rows.attempted & _is("single", lambda o: o.template == ASSESSMENT and bool(o.facts.get("arm"))
                                         and o.facts["arm"] != JOINT)(rows))


def joints(rows: Rows) -> Rows:
    """Attempted assessments with both inputs."""
    return rows.take(
        rows.attempted & _is("joint", lambda o: o.template == ASSESSMENT and o.facts.get("arm") == JOINT)(rows)
    )


def _is(name: str, test: Callable[[Outcome], bool]) -> Callable[[Rows], np.ndarray]:
    return lambda rows: rows.derived(f"arms: {name}", lambda r: np.array([test(o) for o in r.outcomes], bool))


def prospective(rows: Rows) -> np.ndarray:
    """(n,) of tuples of :class:`Prospective`."""
    def make(r: Rows) -> np.ndarray:
        arms = Arms(r.outcomes)
        return _objects([arms.prospective(o) for o in r.outcomes])
    return rows.derived("arms: prospective", make)


def retrospective(rows: Rows) -> np.ndarray:
    """(n,) of :class:`Retrospective` or None."""
    def make(r: Rows) -> np.ndarray:
        arms = Arms(r.outcomes)
        return _objects([arms.retrospective(o) for o in r.outcomes])
    return rows.derived("arms: retrospective", make)


def multiplicity(rows: Rows) -> np.ndarray:
    """(n,) how many items each generation stands for: 1, or the rows of its film; 1 for arms outside the pair."""
    def make(r: Rows) -> np.ndarray:
        arms = Arms(r.outcomes)
        return np.array([len(arms.siblings(o)) if o.facts.get("arm") else 1 for o in r.outcomes], float)
    return rows.derived("arms: multiplicity", make)


def _objects(values: list[Any]) -> np.ndarray:
    out = np.empty(len(values), object)
    out[:] = values
    return out


def counts(rows: Rows, test: Callable[[Prospective], bool]) -> np.ndarray:
    """(n,) number of groups of each row for which ``test`` holds."""
    return np.array([sum(map(test, groups)) for groups in prospective(rows)], float)


def summed(rows: Rows, weights: np.ndarray, test: Callable[[Prospective], bool]) -> np.ndarray:
    """(B,) weighted number of groups for which ``test`` holds."""
    return total(rows, weights, counts(rows, test))


def agreement_by_chance(rows: Rows, weights: np.ndarray, pairs: list[list[tuple[str, str]]]) -> Floats:
    """(B,) percent: sum over answers v of p(v) q(v), the agreement of two independent draws.

    Args:
        pairs: for each row its (stated, executed) answers; p and q are their distributions over the rows.
    """
    values = {v: i for i, v in enumerate(sorted({v for row in pairs for pair in row for v in pair}))}
    if not values:
        return np.full(len(weights), np.nan)
    units = weights.shape[1]
    tables = np.zeros((2, units, len(values)))
    for unit, row in zip(rows.unit, pairs, strict=True):
        for pair in row:
            for side in (0, 1):
                tables[side, unit, values[pair[side]]] += 1
    used = slice(rows.unit.min(), rows.unit.max() + 1)
    p, q = (weights[:, used] @ table[used] for table in tables)
    n = p.sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        chance: Floats = 100 * (p * q).sum(1) / (n * n)
    return chance
