"""Accuracy by modality, task and view, and what a view changes (optical-spectra paper, tables 2 and 3, figure 2)."""

from __future__ import annotations

from ..bootstrap import Resamples
from ..metrics.paired import REFERENCE_VIEW
from ..outcome import Table
from ..rows import Rows
from .grid import BY_MODEL, Cell, core_views, grid, lines, main_tasks

MODALITIES = {"table": "tables", "plot": "plots", "text": "text", "image": "image", "both": "both"}


def _by_modality(rows: Rows) -> dict[str, Cell]:
    return {name: Cell("core_accuracy", {"modality": m})
            for m, name in MODALITIES.items() if m in rows.distinct("modality")}


def accuracy_by_modality(rows: Rows, resamples: Resamples) -> Table | None:
    rows = main_tasks(rows)
    return grid(
        lines(rows, BY_MODEL), resamples, BY_MODEL, _by_modality(rows),
        name="accuracy_by_modality", title="Accuracy on core variants, %",
        note="Correct / attempted; truncated, unparsed and failed requests count as not correct.",
        source="optical-spectra paper, table 2",
    )


def accuracy_by_task(rows: Rows, resamples: Resamples) -> Table | None:
    rows = main_tasks(rows)
    return grid(
        lines(rows, (*BY_MODEL, "task")), resamples, (*BY_MODEL, "task"), _by_modality(rows),
        name="accuracy_by_task", title="Accuracy on core variants by task, %",
        source="optical-spectra paper, table 11 (columns CT, CP, ST, GT)",
    )


def paired_difference(rows: Rows, resamples: Resamples) -> Table | None:
    rows = main_tasks(rows)
    views = [v for v in core_views(rows) if v != REFERENCE_VIEW]
    cells = {view: Cell("paired_difference", {"view": view}) for view in views}
    return grid(
        lines(rows, BY_MODEL), resamples, BY_MODEL, cells,
        name="paired_difference", title=f"Paired accuracy difference from {REFERENCE_VIEW}, points",
        note="On the same core variants. n counts pairs.",
        source="optical-spectra paper, table 3",
    )


def compare_by_view(rows: Rows, resamples: Resamples) -> Table | None:
    rows = rows.where(task="compare")
    cells = {view: Cell("core_accuracy", {"view": view}) for view in core_views(rows)}
    return grid(
        lines(rows, BY_MODEL), resamples, BY_MODEL, cells,
        name="compare_by_view", title="Accuracy on wavelength-worded compare variants by view, %",
        note="Two options: 50 % is chance. Well below 50 % suggests a systematic reversal of direction.",
        source="optical-spectra paper, figure 2",
    )
