"""Scope: one question about an interval Q, on the full spectrum, without the samples outside Q, and without the
segment inside Q that holds the extremum (section 3.3). Only the last is unanswerable.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..probe import Instance, Variant
from ..spec import TaskSpec
from .answers import visible
from .pool import Candidate, Pool
from .sufficiency import (
    DELETIONS,
    balanced,
    clear_location,
    cut_leaves_enough,
    label_cuts,
    location_of,
    removal,
)


class Scope:
    def plan(self, task: TaskSpec) -> Iterator[tuple[str, tuple[Variant, ...]]]:
        for i in range(task.instances):
            name, deletion = f"{task.prefix}-{i:03d}", DELETIONS[i % 3]
            facts = {"question": "question", "deletion": deletion}
            yield name, (
                Variant("full", name, "same", "", True, {**facts, "cut": "full"}),
                Variant("cut_out", name, "same", "", True, {**facts, "cut": "outside"}),
                Variant(f"cut_in_hide_{deletion}", name, "abstain", "", True, {**facts, "cut": "inside"}),
            )

    def draw(self, task: TaskSpec, pool: Pool) -> list[Instance]:
        def wishes(i: int):
            deletion, span, location = DELETIONS[i % 3], interval(task, i), location_of(task, i)
            asked = location.threshold is None or span[0] < location.threshold < span[1]

            def fits(c: Candidate) -> bool:
                # the global extremum is the relevant one, so the full view and the outside cut agree by construction
                return (asked and span[0] <= c.nm <= span[1] and clear_location(c, location, task, pool.extremum)
                        and cut_leaves_enough(c, deletion, span, task))

            yield lambda c: balanced(c, location, i // 6) and fits(c)
            yield fits

        drawn = pool.fill(task.kind, task.instances, wishes, "a clear extremum inside the queried interval")
        out = []
        for i, ((name, planned), c) in enumerate(zip(self.plan(task), drawn, strict=True)):
            span = interval(task, i)
            remove = removal(c.nm, planned[0].facts["deletion"], span, task["cut_half_width_nm"])
            # a cut that runs to the end of Q must not take samples beyond it
            remove = (max(remove[0], span[0]), min(remove[1], span[1]))
            facts = {"nm": c.nm, "span": span, "threshold_nm": location_of(task, i).threshold, "remove": remove,
                     "decoy_nm": visible(c.spectrum, pool.extremum, span, remove)}
            out.append(Instance(name, pool.family, task.kind, c.spectrum.id, (c.spectrum,), facts))
        return out

    def label(self, task: TaskSpec, instance: Instance, planned: tuple[Variant, ...]) -> tuple[Variant, ...]:
        return label_cuts(task, instance, planned)


def interval(task: TaskSpec, i: int) -> tuple[float, float]:
    """Query interval of instance ``i``: the intervals take turns within each kind of deletion."""
    lo, hi = task["intervals_nm"][(i // 3) % len(task["intervals_nm"])]
    return float(lo), float(hi)
