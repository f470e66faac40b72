"""What the requests cost, how long they took, and who answered them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..bootstrap import Resamples
from ..outcome import Table
from ..rows import Rows
from .grid import lines

_COUNTS = ("tokens_in", "tokens_cached", "tokens_out", "tokens_reasoning", "cost_usd")


def cost(rows: Rows, resamples: Resamples) -> Table | None:
    made: list[tuple[Any, ...]] = []
    warnings: list[str] = []
    for (spec, model), line in lines(rows.take(rows.attempted), ("spec", "model")):
        totals = [_total(line.numbers(c), whole=c != "cost_usd") for c in _COUNTS]
        latency = line.numbers("latency_s")
        latency = latency[np.isfinite(latency)]
        times = [float(q) for q in np.quantile(latency, (0.5, 0.95))] if len(latency) else [None, None]
        tries = int(line.numbers("tries").sum())
        served = [f"{' + '.join(names)}" for c in ("provider", "served_model")
                  if (names := [n for n in line.distinct(c) if n])]
        for column in ("provider", "served_model"):
            names = [n for n in line.distinct(column) if n]
            if len(names) > 1:
                counts = ", ".join(f"{n} {int(line.among(column, n).sum())}" for n in names)
                warnings.append(f"Warning: {model} on {spec} was answered by more than one "
                                f"{column.replace('_', ' ')} ({counts}).")
        if any(v is not None for v in (*totals, *times)) or served:
            made.append((spec, model, "; ".join(served), *totals, *times, tries, line.n_instances, len(line)))
    if not made:
        return None
    return Table(
        "cost", "Tokens, cost and latency",
        ("spec", "model", "served by", "tokens in", "of these cached", "tokens out", "of these reasoning", "cost, USD",
         "latency median, s", "latency p95, s", "tries", "instances", "requests"),
        tuple(made),
        note=" ".join(["Sums over the requests that state them.", *warnings]),
        source="optical-spectra paper, section 5.5",
    )


def _total(values: np.ndarray, whole: bool) -> float | int | None:
    known = values[np.isfinite(values)]
    if not len(known):
        return None
    total = math.fsum(known)
    return int(total) if whole else total
