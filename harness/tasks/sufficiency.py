"""Sufficiency: a full spectrum, and a partial one without its true extremum (section 3.2).

Long-side, short-side and middle deletions occur equally often; only these tasks offer 'cannot be determined'.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..probe import ABSTAIN, Instance, Variant
from ..spec import TaskSpec
from .answers import Location, clear_of, clear_side, side_of, visible
from .pool import Candidate, Pool

DELETIONS = ("middle", "long", "short")
"""Kinds of inside cuts, in turn; with the intervals in their declared order this gives the paper's suffq-009 its cut."""


class Sufficiency:
    def plan(self, task: TaskSpec) -> Iterator[tuple[str, tuple[Variant, ...]]]:
        for i in range(task.instances):
            name, deletion = f"{task.prefix}-{i:03d}", DELETIONS[i % 3]
            facts = {"question": "question", "deletion": deletion}
            yield name, (
                Variant("full", name, "same", "", True, {**facts, "cut": "full"}),
                Variant(f"hide_{deletion}", name, "abstain", "", True, {**facts, "cut": "inside"}),
            )

    def draw(self, task: TaskSpec, pool: Pool) -> list[Instance]:
        def wishes(i: int):
            location, deletion = location_of(task, i), DELETIONS[i % 3]
            whole = pool.candidates[0].spectrum.wavelength_nm if pool.candidates else (0, 0)
            span = (float(whole[0]), float(whole[-1]))

            def fits(c: Candidate) -> bool:
                return clear_location(c, location, task, pool.extremum) and cut_leaves_enough(c, deletion, span, task)

            yield lambda c: balanced(c, location, i // 3) and fits(c)
            yield fits

        drawn = pool.fill(task.kind, task.instances, wishes, "a clear extremum that each kind of cut can hide")
        out = []
        for i, ((name, planned), c) in enumerate(zip(self.plan(task), drawn, strict=True)):
            w = c.spectrum.wavelength_nm
            facts = {"nm": c.nm, "span": (float(w[0]), float(w[-1])), "threshold_nm": location_of(task, i).threshold}
            facts["remove"] = removal(c.nm, planned[0].facts["deletion"], facts["span"], task["cut_half_width_nm"])
            facts["decoy_nm"] = visible(c.spectrum, pool.extremum, facts["span"], facts["remove"])
            out.append(Instance(name, pool.family, task.kind, c.spectrum.id, (c.spectrum,), facts))
        return out

    def label(self, task: TaskSpec, instance: Instance, planned: tuple[Variant, ...]) -> tuple[Variant, ...]:
        return label_cuts(task, instance, planned)


def location_of(task: TaskSpec, i: int) -> Location:
    """The band or threshold question of instance ``i``."""
    thresholds = task.get("thresholds_nm")
    return Location(task.get("bands_nm"), thresholds[i % len(thresholds)] if thresholds else None)


def clear_location(c: Candidate, location: Location, task: TaskSpec, extremum: str) -> bool:
    if location.bands:
        return clear_of(c.nm, location.bands, task.get("margin_nm", 0.0))
    return clear_side(c.spectrum, location.threshold, extremum, task.get("margin_nm", 0.0),
                      task.get("relative_margin", 0.0))


def balanced(c: Candidate, location: Location, turn: int) -> bool:
    """Whether the answer is the one whose turn it is."""
    answers = location.options[:-1]
    return location.of(c.nm) == answers[turn % len(answers)] if location.bands else (
        side_of(c.nm, location.threshold) == answers[turn % 2])


def removal(nm: float, deletion: str, span: tuple[float, float], half: float) -> tuple[float, float]:
    """Closed interval in nm that a cut hides: the extremum, and everything beyond it up to the end of ``span``."""
    lo, hi = nm - half, nm + half
    return {"long": (lo, span[1]), "short": (span[0], hi), "middle": (lo, hi)}[deletion]


def cut_leaves_enough(c: Candidate, deletion: str, span: tuple[float, float], task: TaskSpec) -> bool:
    """Whether ``min_samples`` of ``span`` stay visible, and after a middle cut two or more on either side."""
    w = c.spectrum.wavelength_nm
    w = w[(w >= span[0]) & (w <= span[1])]
    lo, hi = removal(c.nm, deletion, span, task["cut_half_width_nm"])
    left, right = int((w < lo).sum()), int((w > hi).sum())
    return left + right >= task["min_samples"] and (deletion != "middle" or min(left, right) >= 2)


def label_cuts(task: TaskSpec, instance: Instance, planned: tuple[Variant, ...]) -> tuple[Variant, ...]:
    """Expected answers of full, outside- and inside-cut variants of one instance."""
    facts = instance.facts
    location = Location(task.get("bands_nm"), facts["threshold_nm"])
    span = facts["span"]
    out = []
    for v in planned:
        inside = v.facts["cut"] == "inside"
        more = {"options": location.options, "threshold_nm": facts["threshold_nm"], "span_nm": span,
                "remove_nm": facts["remove"] if inside else None,
                "keep_nm": span if v.facts["cut"] == "outside" else None,
                "decoy": location.of(facts["decoy_nm"]) if inside else ""}
        out.append(replace(v, expected=ABSTAIN if inside else location.of(facts["nm"]), facts={**v.facts, **more}))
    return tuple(out)
