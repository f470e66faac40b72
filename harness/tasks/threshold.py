"""Threshold: on which side of a wavelength lies the extremum, in both orders of the options (section 3.1, gold)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..probe import Instance, Variant
from ..spec import TaskSpec
from .answers import clear_side, side_of
from .pool import Pool

SIDES = ("shorter", "longer")


class Threshold:
    def plan(self, task: TaskSpec) -> Iterator[tuple[str, tuple[Variant, ...]]]:
        for i in range(task.instances):
            name = f"{task.prefix}-{i:03d}"
            yield name, tuple(
                Variant(f"{order}-{q}", name, "same", "", q == "wavelength",
                        {"question": q, "wording": "energy" if q == "axis" else "wavelength",
                         "options": SIDES if order == "orig" else SIDES[::-1]})
                for order in ("orig", "swap") for q in task.questions)

    def draw(self, task: TaskSpec, pool: Pool) -> list[Instance]:
        thresholds, margin, relative = task["thresholds_nm"], task["margin_nm"], task.get("relative_margin", 0.0)

        def clear(c, i: int) -> bool:
            return clear_side(c.spectrum, thresholds[i % len(thresholds)], pool.extremum, margin, relative)

        def wishes(i: int):
            side = SIDES[i % 2]
            yield lambda c: side_of(c.nm, thresholds[i % len(thresholds)]) == side and clear(c, i)
            yield lambda c: clear(c, i)

        drawn = pool.fill(task.kind, task.instances, wishes, "an extremum clearly on one side of the threshold")
        return [
            Instance(name, pool.family, task.kind, c.spectrum.id, (c.spectrum,),
                     {"threshold_nm": thresholds[i % len(thresholds)], "nm": c.nm})
            for i, ((name, _), c) in enumerate(zip(self.plan(task), drawn, strict=True))
        ]

    def label(self, task: TaskSpec, instance: Instance, planned: tuple[Variant, ...]) -> tuple[Variant, ...]:
        threshold = instance.facts["threshold_nm"]
        return tuple(replace(v, expected=side_of(instance.facts["nm"], threshold),
                             facts={**v.facts, "threshold_nm": threshold}) for v in planned)
