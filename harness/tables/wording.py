"""Controls on energy axes: the wording of the question and the order of the rows (optical-spectra paper, 5 and 6)."""

from __future__ import annotations

from typing import Any

from ..bootstrap import Resamples
from ..metrics.paired import pairs
from ..metrics.wording import both_wordings
from ..outcome import Table
from ..rows import Rows
from .grid import BY_MODEL, Cell, fill, grid, lines

ASCENDING, DESCENDING = "table_ev", "table_ev_desc"
_EFFECT = "row_order_effect"


def wording(rows: Rows, resamples: Resamples) -> Table | None:
    cells = {
        "wavelength wording, %": Cell("accuracy", {"wording": "wavelength"}),
        "energy wording, %": Cell("accuracy", {"wording": "energy"}),
        "difference, points": Cell("wording_effect"),
    }
    rows = both_wordings(rows.take(~rows.among("view", DESCENDING)))
    return grid(
        lines(rows, (*BY_MODEL, "task", "view")), resamples, (*BY_MODEL, "task", "view"), cells,
        name="wording", title="Accuracy by wording on identical eV evidence",
        source="optical-spectra paper, table 5",
    )


def row_order(rows: Rows, resamples: Resamples) -> Table | None:
    """Compare accuracy by wording, middle-gap abstention and D_scope, on one eV table in two orders of its rows."""
    desc = pairs(rows.where(view=DESCENDING), "view", ASCENDING)
    both = desc.union(desc.partners("view", ASCENDING)[1])
    made: list[tuple[Any, ...]] = []
    for names, line in lines(both, BY_MODEL):
        comparisons = line.where(task="compare")
        for what, chosen, value, difference in (
            ("compare accuracy, wavelength wording, %", comparisons.where(wording="wavelength"), "accuracy", _EFFECT),
            ("compare accuracy, energy wording, %", comparisons.where(wording="energy"), "accuracy", _EFFECT),
            ("compare accuracy, both wordings, %", comparisons, "accuracy", _EFFECT),
            ("middle-gap abstention, %", line, "middle_gap_abstention", "row_order_gap_effect"),
            ("D_scope, points", line, "d_scope", "row_order_scope_effect"),
        ):
            estimates, entered = fill(chosen, resamples, [
                Cell(value, {"view": ASCENDING}), Cell(value, {"view": DESCENDING}), Cell(difference)])
            if any(e.value is not None for e in estimates[:2]):
                made.append((*names, what, *estimates, entered.n_instances, len(entered)))
    if not made:
        return None
    return Table(
        "row_order", "Row order of eV tables: ascending and descending energy",
        (*BY_MODEL, "quantity", "ascending", "descending", "difference, points", "instances", "requests"),
        tuple(made),
        note="Descending energy is the row order of the nm tables. On the same variants.",
        source="optical-spectra paper, table 6",
    )
