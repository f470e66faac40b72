"""Accuracy by view and task, effects of views, agreement, wording (optical-spectra paper, figures 2 and 3)."""

from __future__ import annotations

from typing import Any

from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ...outcome import Estimate, Table
from ..document import Document
from .style import INK, SOFT, Look, bar, by, interval_of, legend, lines_down, names, panels, rows_of, short, value_of

VIEWS = ("table_nm", "table_um", "table_sci", "table_ev", "table_ev_desc", "plot_nm", "plot_ev")
COUNTS = ("instances", "requests", "scored", "dropped", "attempted")


def estimate_columns(table: Table) -> list[str]:
    """The columns of a table that hold estimates."""
    return [c for i, c in enumerate(table.columns) if any(isinstance(row[i], Estimate) for row in table.rows)]


def heat_map(table: Table, document: Document) -> Figure | None:
    """Value and interval in every cell; lines are the models of each spec, columns the views."""
    rows, columns = rows_of(table), estimate_columns(table)
    more = [c for c in table.columns if c not in ("spec", "template", "model", *columns, *COUNTS)]
    figure, axes = panels(1, 0.34 * len(rows) + 0.5)
    figure.set_size_inches(min(7.2, 1.7 + 0.78 * len(columns)), 0.34 * len(rows) + 0.75)
    axis = axes[0]
    colours = colormaps["cividis"]
    for i, r in enumerate(rows):
        for j, column in enumerate(columns):
            value, ends = value_of(r[column]), interval_of(r[column])
            if value is None:
                axis.add_patch(Rectangle((j - 0.48, i - 0.46), 0.96, 0.92, fill=False, edgecolor=SOFT, linewidth=0.4))
                continue
            share = min(max(value / 100, 0.0), 1.0)
            axis.add_patch(Rectangle((j - 0.48, i - 0.46), 0.96, 0.92, facecolor=colours(share), edgecolor="none"))
            text = "#ffffff" if share < 0.55 else "#000000"
            axis.text(j, i - (0.14 if ends else 0), f"{value:.0f}", ha="center", va="center", color=text, fontsize=7)
            if ends:
                axis.text(
                    j, i + 0.22, f"{ends[0]:.0f}–{ends[1]:.0f}", ha="center", va="center", color=text, fontsize=5.2
                )
    one = len(names(rows, "spec")) == 1
    lines_down(
        axis, ["  ".join([*([] if one else [str(r["spec"])]), r["line"], *(str(r[c]) for c in more)]) for r in rows]
    )
    axis.set_xlim(-0.5, len(columns) - 0.5)
    axis.set_xticks(range(len(columns)), [c.replace("_", " ") for c in columns])
    axis.xaxis.tick_top()
    axis.tick_params(axis="x", length=0)
    for spine in axis.spines.values():
        spine.set_visible(False)
    return figure


def accuracy_by_task(table: Table, document: Document) -> Figure | None:
    """A panel a spec; lines are tasks, one mark a model, filled for tables and open for plots."""
    return _dots(table, "task")


def compare_by_arm(table: Table, document: Document) -> Figure | None:
    """Compare accuracy of each arm or model, tables and plots apart, against chance."""
    rows = [r for r in rows_of(table) if r.get("task") == "compare"]
    return _dots(table, "line", rows, chance=50) if rows else None


def _dots(
    table: Table, line: str, rows: list[dict[str, Any]] | None = None, chance: float | None = None
) -> Figure | None:
    rows = rows_of(table) if rows is None else rows
    columns = [c for c in estimate_columns(table) if any(value_of(r[c]) is not None for r in rows)]
    if not rows or not columns:
        return None
    specs = by(rows, "spec")
    look = Look(sorted(names(rows)))
    tallest = max(_slots(part, line, columns) for part in specs.values())
    figure, axes = panels(len(specs), 0.115 * tallest + 0.55)
    for axis, (spec, part) in zip(axes, specs.items(), strict=True):
        labels = names(part, line)
        for i, label in enumerate(labels):
            here = [r for r in part if str(r[line]) == label]
            marks = [(r, c) for r in here for c in columns if value_of(r[c]) is not None]
            for k, (r, c) in enumerate(marks):
                at = i + (k - (len(marks) - 1) / 2) * 0.8 / max(len(marks), 1)
                said = c if line == "line" else r["line"] if len(columns) == 1 else f"{r['line']}, {c}"
                bar(
                    axis,
                    at,
                    r[c],
                    colour=look.colour(r["line"]) if line != "line" else INK,
                    marker=look.marker(r["line"]) if line != "line" else "os"[columns.index(c) % 2],
                    filled=columns.index(c) == 0,
                    label=short(said, 40),
                    size=3.4,
                )
            if i:
                axis.axhline(i - 0.5, color=SOFT, linewidth=0.3)
        lines_down(axis, labels)
        axis.set_xlim(-3, 103)
        axis.set_title(short(spec, 40))
        axis.set_xlabel("% right [95 % interval]")
        axis.grid(axis="x")
        if chance is not None:
            axis.axvline(chance, color=INK, linewidth=0.6, linestyle=(0, (2, 2)), label=f"chance, {chance:g} %")
    legend(axes[0], ncols=3)
    return figure


def _slots(part: list[dict[str, Any]], line: str, columns: list[str]) -> int:
    """Marks of one panel, if every line has as many as the fullest."""
    most = max(sum(value_of(r[c]) is not None for r in group for c in columns) for group in by(part, line).values())
    return len(names(part, line)) * (most + 1)


def paired_effects(table: Table, document: Document) -> Figure | None:
    """A forest plot: accuracy in each view less that in the nm table on the same variants."""
    rows, columns = rows_of(table), estimate_columns(table)
    specs = by(rows, "spec")
    look = Look(sorted(names(rows)))
    most = max(len(part) for part in specs.values())
    figure, axes = panels(len(specs), 0.115 * len(columns) * (most + 1) + 0.6)
    for axis, (spec, part) in zip(axes, specs.items(), strict=True):
        axis.axvline(0, color=INK, linewidth=0.6)
        for i, column in enumerate(columns):
            for k, r in enumerate(part):
                bar(
                    axis,
                    i + (k - (len(part) - 1) / 2) * 0.8 / len(part),
                    r[column],
                    colour=look.colour(r["line"]),
                    marker=look.marker(r["line"]),
                    label=short(r["line"], 40),
                    size=3.4,
                )
            if i:
                axis.axhline(i - 0.5, color=SOFT, linewidth=0.3)
        lines_down(axis, [c.replace("_", " ") for c in columns])
        axis.set_title(short(spec, 40))
        axis.set_xlabel("points from the nm table")
        axis.grid(axis="x")
    legend(axes[0])
    return figure


def agreement(table: Table, document: Document) -> Figure | None:
    """Bars of the variants decided alike in all views, right and wrong; a tick where independent errors would lie."""
    rows = [
        r for r in rows_of(table) if value_of(r.get("correct")) is not None and value_of(r.get("wrong")) is not None
    ]
    total = next((c for c in table.columns if c.startswith("all views")), None)
    if not rows or total is None:
        return None
    figure, axes = panels(1, 0.26 * len(rows) + 0.6)
    axis = axes[0]
    for i, r in enumerate(rows):
        right, wrong, indep = value_of(r["correct"]) or 0.0, value_of(r["wrong"]) or 0.0, value_of(r["indep."])
        axis.barh(i, right, height=0.62, color="#009e73", label="all right", edgecolor="none")
        axis.barh(
            i,
            wrong,
            left=right,
            height=0.62,
            color="#d55e00",
            label="alike, but wrong",
            hatch="////",
            edgecolor=INK,
            linewidth=0,
        )
        if ends := interval_of(r[total]):
            value = value_of(r[total]) or 0.0
            axis.errorbar(
                [value],
                [i],
                xerr=[[max(0, value - ends[0])], [max(0, ends[1] - value)]],
                fmt="none",
                ecolor=INK,
                elinewidth=0.8,
                capsize=1.8,
                label="95 % interval of the agreement",
            )
        if indep is not None:
            axis.plot([indep, indep], [i - 0.4, i + 0.4], color=INK, linewidth=1.4, label="all right, if independent")
    one = len(names(rows, "spec")) == 1
    lines_down(axis, [r["line"] if one else f"{r['spec']}  {r['line']}" for r in rows])
    axis.set_xlim(0, 103)
    axis.set_xlabel("% of core variants decided alike in all views")
    axis.grid(axis="x")
    legend(axis, ncols=2)
    return figure


def wording(table: Table, document: Document) -> Figure | None:
    """Slopes: the same eV evidence asked about in wavelength words and in energy words."""
    rows = rows_of(table)
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for r in rows:
        groups.setdefault((str(r["spec"]), f"{r['task']}, {r['view']}".replace("_", " ")), []).append(r)
    look = Look(sorted(names(rows)))
    figure, axes = panels(len(groups), 1.45, columns=4)
    for axis, ((spec, what), part) in zip(axes, groups.items(), strict=True):
        for k, r in enumerate(part):
            ends = [value_of(r["wavelength wording, %"]), value_of(r["energy wording, %"])]
            if None in ends:
                continue
            shift = (k - (len(part) - 1) / 2) * 0.07
            colour, marker = look.colour(r["line"]), look.marker(r["line"])
            axis.plot([shift, 1 + shift], ends, color=colour, linewidth=0.9)
            for x, column in enumerate(("wavelength wording, %", "energy wording, %")):
                bar(
                    axis,
                    x + shift,
                    r[column],
                    vertical=True,
                    colour=colour,
                    marker=marker,
                    size=3.2,
                    label=short(r["line"], 40),
                )
        axis.set_xlim(-0.4, 1.4)
        axis.set_ylim(-4, 104)
        axis.set_xticks([0, 1], ["wavelength", "energy"])
        axis.set_title(f"{short(spec, 24)}\n{what}", fontsize=6.5)
        axis.grid(axis="y")
    axes[0].set_ylabel("% right")
    legend(axes[0])
    return figure
