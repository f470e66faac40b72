"""Extreme: which band holds the minimum, and which the maximum, of one spectrum (section 3.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..probe import Instance, Variant
from ..spec import TaskSpec
from .answers import band_keys, band_of, clear_of
from .pool import Candidate, Pool, extremum_index


class Extreme:
    def plan(self, task: TaskSpec) -> Iterator[tuple[str, tuple[Variant, ...]]]:
        for i in range(task.instances):
            name = f"{task.prefix}-{i:03d}"
            yield name, tuple(
                Variant(q, name, "same" if k == 0 else "flip", "", True, {"direction": q, "question": q})
                for k, q in enumerate(task.questions))

    def draw(self, task: TaskSpec, pool: Pool) -> list[Instance]:
        bounds, margin, gap = task["bands_nm"], task["margin_nm"], task.get("response_margin", 0.0)
        keys = band_keys(bounds)
        clear = {c.spectrum.id: b for c in pool.candidates if (b := _bands(c, task.questions, bounds, margin, gap))}

        def wishes(i: int):
            band = keys[i % len(keys)]
            yield lambda c: clear.get(c.spectrum.id, {}).get(pool.extremum) == band
            yield lambda c: c.spectrum.id in clear

        drawn = pool.fill(task.kind, task.instances, wishes, "both extremes in one clear band")
        return [
            Instance(name, pool.family, task.kind, c.spectrum.id, (c.spectrum,), clear[c.spectrum.id])
            for (name, _), c in zip(self.plan(task), drawn, strict=True)
        ]

    def label(self, task: TaskSpec, instance: Instance, planned: tuple[Variant, ...]) -> tuple[Variant, ...]:
        return tuple(replace(v, expected=instance.facts[v.facts["direction"]],
                             facts={**v.facts, "options": band_keys(task["bands_nm"])}) for v in planned)


def _bands(c: Candidate, extrema, bounds, margin: float, gap: float) -> dict[str, str] | None:
    """Band of each extremum, or None unless each keeps its distance from boundaries and from every other band."""
    w, r = c.spectrum.wavelength_nm, c.spectrum.response
    out = {}
    for extremum in extrema:
        i = extremum_index(r, extremum)
        if not clear_of(w[i], bounds, margin):
            return None
        band = band_of(w[i], bounds)
        others = [x for x, y in zip(r, w, strict=True) if band_of(y, bounds) != band]
        if not others:  # one band holds every sample, so there is nothing to tell apart
            return None
        best = min(others) if extremum == "minimum" else max(others)
        if abs(best - r[i]) < gap:
            return None
        out[extremum] = band
    return out
