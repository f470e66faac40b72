"""Adapters one by one: every seed of every arm (optical-spectra paper, tables 11 and 12, section 5.3).

An adapter is a model named BASE+ARM/SEED. Its base stands beside it; seeds are never pooled.
"""

from __future__ import annotations

from ..bootstrap import Resamples
from ..metrics.metric import load
from ..outcome import Estimate, Table
from ..rows import Rows

JOIN = "+"
COLUMNS = {
    "compare, tables": ("main", "core_accuracy", {"task": "compare", "modality": "table"}),
    "compare, plots": ("main", "core_accuracy", {"task": "compare", "modality": "plot"}),
    "specification, tables": ("main", "core_accuracy", {"task": "specification", "modality": "table"}),
    "threshold, tables": ("main", "core_accuracy", {"task": "threshold", "modality": "table"}),
    "scope full, tables": ("scope", "scope_full", {"modality": "table"}),
    "D_scope, tables": ("scope", "d_scope", {"modality": "table"}),
    "Delta_out, tables": ("scope", "delta_out", {"modality": "table"}),
    "reversed rule, tables": ("main", "reversed_rule", {}),
}
"""Column -> kind of set, metric, filter. Accuracies and shares in %, the two scope measures in points."""


def parts(model: str) -> tuple[str, str, str]:
    """Base, arm and seed; arm and seed are empty for a base."""
    base, _, adapter = model.partition(JOIN)
    arm, _, seed = adapter.rpartition("/")
    return base, arm, seed


def adapters(rows: Rows) -> list[str]:
    """Adapters with the bases they belong to, each base first, then arm by arm and seed by seed."""
    models = rows.distinct("model")
    bases = {parts(m)[0] for m in models if JOIN in m}
    return sorted((m for m in models if parts(m)[0] in bases), key=parts)


def arm_seeds(rows: Rows, resamples: Resamples) -> Table | None:
    """A line for each dataset, arm and seed. None without adapters."""
    models = adapters(rows)
    lines = []
    for dataset in rows.distinct("dataset") if models else ():
        for model in models:
            mine = rows.where(dataset=dataset, model=model)
            cells = [cell(mine, resamples, *column) for column in COLUMNS.values()]
            if any(c.value is not None for c in cells):
                base, arm, seed = parts(model)
                lines.append((dataset, base, arm or "none", seed, *cells))
    if not lines:
        return None
    return Table(
        name="arm_seeds", title="Every arm and seed", columns=("dataset", "base", "arm", "seed", *COLUMNS),
        rows=tuple(lines), source="optical-spectra paper, tables 11 and 12, section 5.3",
        note="Core variants; %, and points for D_scope and Delta_out. Seeds are reported one by one. The reversed rule "
             "is the share of choices that answer for the other extremum, where that is another answer.",
    )


def cell(rows: Rows, resamples: Resamples, kind: str, metric: str, where: dict[str, str]) -> Estimate:
    chosen = rows.where(where)
    scope = chosen.among("task", "scope")
    return resamples.estimate(load(metric), chosen.take(scope if kind == "scope" else ~scope))
