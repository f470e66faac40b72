"""Abstention when the relevant evidence is missing (optical-spectra paper, tables 7 and 10, section 5.2)."""

from __future__ import annotations

from ..bootstrap import Resamples
from ..outcome import Table
from ..rows import Rows
from .grid import BY_MODEL, Cell, core_views, grid, lines

_CELLS = {
    "full, %": Cell("scope_full"),
    "D_scope, points": Cell("d_scope"),
    "Delta_out, points": Cell("delta_out"),
}
_NOTE = "Ideal: full 100, D_scope +100, Delta_out 0. Always and never abstaining both give D_scope 0."


def _core(rows: Rows) -> Rows:
    return rows.where(view=core_views(rows))


def scope(rows: Rows, resamples: Resamples) -> Table | None:
    return grid(
        lines(_core(rows), (*BY_MODEL, "modality")), resamples, (*BY_MODEL, "modality"), _CELLS,
        name="scope", title="Scope sets: does abstention depend on which evidence is missing?",
        note=_NOTE, source="optical-spectra paper, tables 7 and 10",
    )


def scope_by_view(rows: Rows, resamples: Resamples) -> Table | None:
    return grid(
        lines(rows, (*BY_MODEL, "view")), resamples, (*BY_MODEL, "view"), _CELLS,
        name="scope_by_view", title="Scope sets by view", note=_NOTE, source="optical-spectra paper, formula 1",
    )


def middle_gap_abstention(rows: Rows, resamples: Resamples) -> Table | None:
    views = core_views(rows)
    cells = {view: Cell("middle_gap_abstention", {"view": view}) for view in views}
    return grid(
        lines(rows, (*BY_MODEL, "task")), resamples, (*BY_MODEL, "task"), cells,
        name="middle_gap_abstention", title="Abstention after a middle segment with the extremum was removed, %",
        note="Ideal 100.", source="optical-spectra paper, section 5.2",
    )
