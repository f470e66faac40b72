"""Specification: which of three candidates has its extremum inside a window and beyond a depth (section 3.2).

One wrong candidate is deep enough but outside the window (the decoy), the other is inside but too shallow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..probe import Instance, Variant
from ..spec import TaskSpec
from .pool import Candidate, Pool

LETTERS = ("A", "B", "C")


class Specification:
    def plan(self, task: TaskSpec) -> Iterator[tuple[str, tuple[Variant, ...]]]:
        (question,) = task.questions
        for i in range(task.instances):
            name = f"{task.prefix}-{i:03d}"
            yield name, tuple(
                Variant(f"rot{r}-{question}", name, "same" if r == 0 else "flip", "", True,
                        {"order": tuple((k - i - r) % 3 for k in range(3)), "question": question, "rotation": r})
                for r in range(3))

    def draw(self, task: TaskSpec, pool: Pool) -> list[Instance]:
        out, windows = [], task["windows_nm"]
        order = pool.ranked(task.kind)
        for i, (name, _) in enumerate(self.plan(task)):
            free = [c for c in order if c.spectrum.id not in pool.used]
            for window in (windows[(i + k) % len(windows)] for k in range(len(windows))):
                trio = _trio(free, task, window, pool.extremum, i)
                if trio:
                    break
            else:
                raise pool.shortage(task.kind, task.instances, i, "a right, a misplaced and a shallow candidate")
            depth, chosen = trio
            pool.use(*chosen)
            out.append(Instance(name, pool.family, task.kind, name, tuple(c.spectrum for c in chosen),
                                {"window_nm": tuple(window), "depth": depth}))
        return out

    def label(self, task: TaskSpec, instance: Instance, planned: tuple[Variant, ...]) -> tuple[Variant, ...]:
        # evidence is (right, misplaced, shallow); 'order' says which of them stands at A, B and C
        return tuple(replace(v, expected=LETTERS[v.facts["order"].index(0)],
                             facts={**v.facts, "options": LETTERS, "decoy": LETTERS[v.facts["order"].index(1)],
                                    "window_nm": instance.facts["window_nm"], "depth": instance.facts["depth"]})
                     for v in planned)


def _trio(free: list[Candidate], task: TaskSpec, window, extremum: str, turn: int):
    """First depth threshold (starting at the turn's own) for which all three roles can be cast, with the cast."""
    sign = 1.0 if extremum == "minimum" else -1.0
    lo, hi = window
    depths = task["depths"]
    for depth in (depths[(turn + k) % len(depths)] for k in range(len(depths))):
        def deep(c: Candidate, depth=depth) -> bool:
            return sign * (depth - c.value) >= task["deep_margin"]

        def shallow(c: Candidate, depth=depth) -> bool:
            return sign * (c.value - depth) >= task["shallow_margin"]

        right = next((c for c in free if lo + task["inside_nm"] <= c.nm <= hi - task["inside_nm"] and deep(c)), None)
        misplaced = next((c for c in free if deep(c)
                          and (c.nm <= lo - task["outside_nm"] or c.nm >= hi + task["outside_nm"])), None)
        inside = next((c for c in free if lo + task["inside_nm"] <= c.nm <= hi - task["inside_nm"] and shallow(c)), None)
        if right and misplaced and inside:
            return depth, (right, misplaced, inside)
    return None
