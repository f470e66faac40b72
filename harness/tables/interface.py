"""The decision interface itself: what happens when only the presentation of the alternatives changes."""

from __future__ import annotations

from ..bootstrap import Resamples
from ..metrics.interface import probed
from ..outcome import Table
from ..rows import Rows
from .grid import BY_MODEL, Cell, grid, lines


def interface(rows: Rows, resamples: Resamples) -> Table | None:
    return grid(
        lines(probed(rows), (*BY_MODEL, "facts.probe", "task")), resamples, (*BY_MODEL, "facts.probe", "task"),
        {"accuracy, %": Cell("accuracy"), "difference, points": Cell("interface_effect"),
         "flips, %": Cell("interface_flips")},
        name="interface", title="Probes of the decision interface, against the same question presented plainly",
        note="Flips: of the pairs with two readable choices. Difference: in accuracy, on the same variants.",
    )
