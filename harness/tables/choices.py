"""Preferences and shortcuts (optical-spectra paper, sections 5.1 and 5.2)."""

from __future__ import annotations

from ..bootstrap import Resamples
from ..outcome import Table
from ..rows import Rows
from .grid import BY_MODEL, Cell, core_views, grid, lines, main_tasks


def position_preference(rows: Rows, resamples: Resamples) -> Table | None:
    rows = rows.take(~rows.among("first", ""))
    cells = {
        "tables": Cell("position_preference", {"modality": "table"}),
        "plots": Cell("position_preference", {"modality": "plot"}),
        **{view: Cell("position_preference", {"view": view}) for view in core_views(rows)},
    }
    return grid(
        lines(rows, BY_MODEL), resamples, BY_MODEL, cells,
        name="position_preference", title="Share of core comparisons in which the first evidence is chosen, %",
        note="The first is right in half of them. Over readable choices.",
        source="optical-spectra paper, section 5.1",
    )


def shortcuts(rows: Rows, resamples: Resamples) -> Table | None:
    rows = main_tasks(rows)
    cells = {
        "visible extremum": Cell("visible_extremum_share"),
        "tables: visible extremum": Cell("visible_extremum_share", {"modality": "table"}),
        "plots: visible extremum": Cell("visible_extremum_share", {"modality": "plot"}),
        "deep but outside the window": Cell("specification_decoy_share"),
    }
    return grid(
        lines(rows, BY_MODEL), resamples, BY_MODEL, cells,
        name="shortcuts", title="Answers of known shortcuts, %",
        note="Visible extremum: of the readable choices after an inside cut in the main sufficiency task. "
             "Deep but outside the window: of the wrong choices in specification tasks.",
        source="optical-spectra paper, section 5.2",
    )
