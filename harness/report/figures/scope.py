"""Where models stand between abstaining never, always and when it is called for (optical-spectra paper, figure 4)."""

from __future__ import annotations

from matplotlib.figure import Figure

from ...outcome import Table
from ..document import Document
from .style import INK, PAPER, SOFT, Look, by, interval_of, legend, names, panels, rows_of, short, value_of


def plane(table: Table, document: Document) -> Figure | None:
    """D_scope against Delta_out, intervals in both directions, and the ideal point (0, +100)."""
    rows = [
        r
        for r in rows_of(table)
        if value_of(r["D_scope, points"]) is not None and value_of(r["Delta_out, points"]) is not None
    ]
    if not rows:
        return None
    specs, look = by(rows, "spec"), Look(sorted(names(rows)))
    figure, axes = panels(len(specs), 2.5, columns=3)
    low = min([-30.0, *((interval_of(r["Delta_out, points"]) or (0, 0))[0] for r in rows)])
    for axis, (spec, part) in zip(axes, specs.items(), strict=True):
        axis.axhline(0, color=SOFT, linewidth=0.6)
        axis.axvline(0, color=SOFT, linewidth=0.6)
        axis.plot([0], [100], marker="*", markersize=10, color=INK, linestyle="none", label="ideal", zorder=2)
        for r in part:
            x, y = value_of(r["Delta_out, points"]) or 0.0, value_of(r["D_scope, points"]) or 0.0
            colour, open_mark = look.colour(r["line"]), r.get("modality") == "plot"
            error = [
                [[max(0.0, v - ends[0])], [max(0.0, ends[1] - v)]] if ends else None
                for v, ends in ((x, interval_of(r["Delta_out, points"])), (y, interval_of(r["D_scope, points"])))
            ]
            axis.errorbar(
                [x],
                [y],
                xerr=error[0],
                yerr=error[1],
                fmt=look.marker(r["line"]),
                color=colour,
                markersize=4.5,
                markerfacecolor=PAPER if open_mark else colour,
                elinewidth=0.8,
                capsize=1.6,
                zorder=3,
                label=short(f"{r['line']}, {r.get('modality', '')}s", 44),
            )
        axis.set_xlim(low - 6, max(20.0, *(value_of(r["Delta_out, points"]) or 0.0 for r in part)) + 6)
        axis.set_ylim(-30, 112)
        axis.set_title(short(spec, 40))
        axis.set_xlabel("Delta_out, points: harmless cut less full")
    axes[0].set_ylabel("D_scope, points: abstains when it should,\nless when it should not")
    legend(axes[0], ncols=3)
    return figure
