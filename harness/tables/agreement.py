"""Agreement across equivalent views (optical-spectra paper, table 4)."""

from __future__ import annotations

from ..bootstrap import Resamples
from ..outcome import Table
from ..rows import Rows
from .grid import BY_MODEL, Cell, core_views, grid, lines, main_tasks


def agreement(rows: Rows, resamples: Resamples) -> Table | None:
    rows = main_tasks(rows)
    n_tables, n_all = len(core_views(rows.where(modality="table"))), len(core_views(rows))
    cells = {
        f"all tables ({n_tables})": Cell("agreement_tables"),
        f"all views ({n_all})": Cell("agreement_all"),
        "wrong": Cell("consistent_wrong"),
        "correct": Cell("all_correct"),
        "indep.": Cell("all_correct_independent"),
    }
    if n_tables < 2:
        del cells[f"all tables ({n_tables})"]
    return grid(
        lines(rows, BY_MODEL), resamples, BY_MODEL, cells,
        name="agreement", title="Agreement across equivalent views of core variants, %",
        note="Wrong: the consistent-but-wrong share, within all views. Correct: all views correct. Indep.: the "
             "all-correct share if errors were independent between views, by task type. A reply that is not usable "
             "agrees with nothing; a model that was not shown all views has no agreement over them.",
        source="optical-spectra paper, table 4",
    )
