"""The same request asked again, and the same question shown otherwise."""

from __future__ import annotations

from ..bootstrap import Resamples
from ..metrics.paired import REFERENCE_VIEW
from ..outcome import Table
from ..rows import Rows
from .grid import BY_MODEL, Cell, core_views, grid, lines, main_tasks


def reproducibility(rows: Rows, resamples: Resamples) -> Table | None:
    return grid(
        lines(rows, (*BY_MODEL, "repeat")), resamples, (*BY_MODEL, "repeat"), {"same choice": Cell("reproducibility")},
        name="reproducibility", title="Requests that repeat the choice of repeat 0, %",
        note="A pair with an unreadable reply has not been reproduced. n counts pairs.",
        source="optical-spectra paper, appendix E",
    )


def flips(rows: Rows, resamples: Resamples) -> Table | None:
    rows = main_tasks(rows).where(core=True)
    cells = {v: Cell("flip_rate", {"view": v}) for v in core_views(rows) if v != REFERENCE_VIEW}
    return grid(
        lines(rows, BY_MODEL), resamples, BY_MODEL, cells,
        name="flips", title=f"Core variants whose choice differs from the one in {REFERENCE_VIEW}, %",
        note="Of the pairs with two readable choices; n counts pairs. Two different wrong choices are a flip.",
    )
