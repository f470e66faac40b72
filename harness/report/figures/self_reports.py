"""What models say of their inputs against what they do (modality paper, figures 2, 3, 4 and 5)."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from ...outcome import Table
from ..document import Document
from .style import (
    INK,
    PAPER,
    SOFT,
    Look,
    bar,
    by,
    interval_of,
    legend,
    lines_down,
    names,
    panels,
    rows_of,
    short,
    value_of,
)


def predicted_and_executed(table: Table, document: Document) -> Figure | None:
    """Executed against predicted change, one mark a model and given input; on the diagonal claims and acts agree."""
    rows = [r for r in rows_of(table) if value_of(r["predicted"]) is not None and value_of(r["executed"]) is not None]
    if not rows:
        return None
    specs, look, inputs = by(rows, "spec"), Look(sorted(names(rows))), sorted(names(rows, "given"))
    figure, axes = panels(len(specs), 2.3, columns=3)
    for axis, (spec, part) in zip(axes, specs.items(), strict=True):
        axis.plot([0, 100], [0, 100], color=SOFT, linewidth=0.8, label="executed = predicted")
        for r in part:
            x, y = value_of(r["predicted"]) or 0.0, value_of(r["executed"]) or 0.0
            error = [
                [[max(0.0, v - e[0])], [max(0.0, e[1] - v)]] if e else None
                for v, e in ((x, interval_of(r["predicted"])), (y, interval_of(r["executed"])))
            ]
            colour = look.colour(r["line"])
            axis.errorbar(
                [x],
                [y],
                xerr=error[0],
                yerr=error[1],
                fmt=look.marker(r["line"]),
                color=colour,
                markersize=4.2,
                markerfacecolor=colour if inputs.index(str(r["given"])) % 2 == 0 else PAPER,
                elinewidth=0.8,
                capsize=1.6,
                label=short(f"{r['line']}, given {r['given']}", 44),
                zorder=3,
            )
        axis.set_xlim(-4, 104)
        axis.set_ylim(-4, 104)
        axis.set_aspect("equal")
        axis.set_title(short(spec, 40))
        axis.set_xlabel("predicted change, %")
    axes[0].set_ylabel("executed change, %")
    legend(axes[0], ncols=3)
    return figure


def insufficiency(table: Table, document: Document) -> Figure | None:
    """Precision and recall of the flag INSUFFICIENT as a detector of executed change."""
    return _lines(table, ("precision", "recall"), ("given",), "% [95 % interval]", chance="precision by chance")


def alignment(table: Table, document: Document) -> Figure | None:
    """How often the stated and the executed attribution name the input with the annotated evidence."""
    return _lines(table, ("stated", "executed"), (), "% of annotated items")


def attribution(table: Table, document: Document) -> Figure | None:
    """Stated and executed shares of each attribution."""
    return _lines(table, ("stated", "executed"), ("attribution",), "% of items")


def _lines(table: Table, columns: tuple[str, str], more: tuple[str, ...], unit: str, chance: str = "") -> Figure | None:
    rows: list[dict[str, Any]] = [r for r in rows_of(table) if any(value_of(r[c]) is not None for c in columns)]
    if not rows:
        return None
    specs = by(rows, "spec")
    figure, axes = panels(len(specs), 0.2 * max(map(len, specs.values())) + 0.6)
    for axis, (spec, part) in zip(axes, specs.items(), strict=True):
        for i, r in enumerate(part):
            ends = [value_of(r[c]) for c in columns]
            if None not in ends:
                axis.plot(ends, [i - 0.14, i + 0.14], color=SOFT, linewidth=0.9, zorder=1)
            for k, column in enumerate(columns):
                bar(
                    axis,
                    i + (k - 0.5) * 0.28,
                    r[column],
                    colour=("#0072b2", "#d55e00")[k],
                    marker="os"[k],
                    label=column,
                    filled=k == 0,
                    size=3.6,
                )
            if chance and (at := value_of(r.get(chance))) is not None:
                axis.plot([at, at], [i - 0.42, i + 0.42], color=INK, linewidth=0.9, label=chance)
        lines_down(axis, ["  ".join([r["line"], *(str(r[c]) for c in more)]) for r in part])
        axis.set_xlim(-3, 103)
        axis.set_title(short(spec, 40))
        axis.set_xlabel(unit)
        axis.grid(axis="x")
    legend(axes[0], ncols=3)
    return figure
