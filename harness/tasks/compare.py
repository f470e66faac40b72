"""Compare: which of two extrema lies at the longer or shorter wavelength, in both evidence orders (section 3.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..probe import Instance, Variant
from ..spec import TaskSpec
from .pool import Pool

ORDERS = {"orig": (0, 1), "swap": (1, 0)}


class Compare:
    def plan(self, task: TaskSpec) -> Iterator[tuple[str, tuple[Variant, ...]]]:
        for i in range(task.instances):
            name = f"{task.prefix}-{i:03d}"
            yield name, tuple(
                Variant(f"{order}-{q}", name, "same" if (order == "orig") == q.startswith("longer") else "flip", "",
                        q.endswith("-wavelength"),
                        {"order": ORDERS[order], "question": q, "direction": q.split("-")[0],
                         "wording": "energy" if q.endswith("-axis") else "wavelength"})
                for order in ORDERS for q in task.questions)

    def draw(self, task: TaskSpec, pool: Pool) -> list[Instance]:
        out, order = [], pool.ranked(task.kind)
        for i, (name, _) in enumerate(self.plan(task)):
            free = [c for c in order if c.spectrum.id not in pool.used]
            pair = next(((a, b) for k, a in enumerate(free) for b in free[k + 1:]
                         if abs(a.nm - b.nm) >= task["separation_nm"]), None)
            if pair is None:
                raise pool.shortage(task.kind, task.instances, i, f"pairs at least {task['separation_nm']} nm apart")
            pool.use(*pair)
            # the longer one comes first in every other pair, so that no position is right more often
            first, second = sorted(pair, key=lambda c: c.nm, reverse=i % 2 == 0)
            out.append(Instance(name, pool.family, task.kind, name, (first.spectrum, second.spectrum),
                                {"nm": (first.nm, second.nm)}))
        return out

    def label(self, task: TaskSpec, instance: Instance, planned: tuple[Variant, ...]) -> tuple[Variant, ...]:
        def expected(v: Variant) -> str:
            nm = [instance.facts["nm"][k] for k in v.facts["order"]]
            return "AB"[nm.index(max(nm) if v.facts["direction"] == "longer" else min(nm))]

        return tuple(replace(v, expected=expected(v), facts={**v.facts, "options": ("A", "B"), "first": "A"})
                     for v in planned)
