"""What the figures share: sizes, colours that colour-blind readers tell apart, and reproducible bytes.

Colours are those of Okabe and Ito (2008); every series also has a marker of its own. Sizes are of a printed column, so
that text is 7 points where it is read. ``INK``, ``SOFT`` and ``PAPER`` are used for nothing else: the page replaces
them where the reader's screen is dark.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from PIL import Image

from ...outcome import Estimate, Table
from ..text import plain

WIDTH, NARROW = 7.2, 3.5
"""Inches: a page, a column."""
DPI = 200
INK, SOFT, PAPER = "#1b2027", "#9aa1ab", "#fdfdfe"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f6bd0", "#8c8c30")
MARKERS = "osD^vPX*"
RC: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 7,
    "axes.titlesize": 7.5,
    "axes.titleweight": "bold",
    "axes.labelsize": 7,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "axes.facecolor": "none",
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 1.0,
    "grid.color": SOFT,
    "grid.linewidth": 0.3,
    "axes.axisbelow": True,
    "legend.handlelength": 1.4,
    "svg.fonttype": "none",
    "svg.hashsalt": "isoprobe",
    "axes.titlelocation": "left",
    "axes.unicode_minus": True,
}


class Look:
    """One colour and marker for each name, the same in every figure of a report."""

    def __init__(self, names: Iterable[str]):
        self._at = {name: i for i, name in enumerate(dict.fromkeys(names))}

    def __len__(self) -> int:
        return len(self._at)

    def colour(self, name: str) -> str:
        return COLOURS[self._at.get(name, 0) % len(COLOURS)]

    def marker(self, name: str) -> str:
        i = self._at.get(name, 0)
        return MARKERS[(i + i // len(COLOURS)) % len(MARKERS)]


def short(text: str, limit: int = 28) -> str:
    """A name that fits a margin, and in which a dollar sign starts no formula."""
    text = plain(text, 200)
    text = text if len(text) <= limit else text[: limit - 1] + "…"
    return text.replace("$", r"\$")


def rows_of(table: Table) -> list[dict[str, Any]]:
    """The lines of a table by column name. ``line`` is what tells the models apart: model, and template if several."""
    made = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    several = len({r.get("template", "") for r in made}) > 1
    for r in made:
        r["line"] = (
            f"{r.get('model', '')}, {r['template']}" if several and r.get("template") else str(r.get("model", ""))
        )
    return made


def by(rows: Sequence[dict[str, Any]], column: str) -> dict[str, list[dict[str, Any]]]:
    """Lines by the value of a column, in their order."""
    out: dict[str, list[dict[str, Any]]] = {}
    for r in rows:
        out.setdefault(str(r[column]), []).append(r)
    return out


def names(rows: Sequence[dict[str, Any]], column: str = "line") -> list[str]:
    return list(dict.fromkeys(str(r[column]) for r in rows))


def panels(count: int, height: float, columns: int = 2, width: float = WIDTH) -> tuple[Figure, list[Axes]]:
    """A figure of ``count`` axes of ``height`` inches each in at most so many columns; one alone is a column wide."""
    columns = min(columns, count)
    lines = math.ceil(count / columns)
    figure = Figure((width if columns > 1 else min(width, NARROW * 1.35), height * lines + 0.35), layout="constrained")
    axes = [figure.add_subplot(lines, columns, i + 1) for i in range(count)]
    return figure, axes


def bar(
    axes: Axes,
    x: float,
    estimate: Any,
    *,
    vertical: bool = False,
    colour: str,
    marker: str,
    label: str = "",
    filled: bool = True,
    size: float = 4,
) -> None:
    """A point with its 95 % interval: value along y at ``x`` if vertical, else along x at height ``x``."""
    value, ends = value_of(estimate), interval_of(estimate)
    if value is None:
        return
    error = None
    if ends:
        error = [[max(0.0, value - ends[0])], [max(0.0, ends[1] - value)]]
    style: dict[str, Any] = {
        "fmt": marker,
        "color": colour,
        "markersize": size,
        "elinewidth": 1.0,
        "capsize": 1.8,
        "capthick": 0.8,
        "markeredgewidth": 0.9,
        "markerfacecolor": colour if filled else PAPER,
        "label": label or None,
        "zorder": 3,
    }
    if vertical:
        axes.errorbar([x], [value], yerr=error, **style)
    else:
        axes.errorbar([value], [x], xerr=error, **style)


def value_of(cell: Any) -> float | None:
    cell = cell.value if isinstance(cell, Estimate) else cell
    return float(cell) if isinstance(cell, int | float) and math.isfinite(cell) else None


def interval_of(cell: Any) -> tuple[float, float] | None:
    return cell.interval if isinstance(cell, Estimate) else None


def legend(axes: Axes, **more: Any) -> None:
    """A legend below the figure with each label of any of its axes once: not every panel shows every line."""
    once: dict[str, Any] = {}
    for panel in axes.figure.axes:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            once.setdefault(label, handle)
    if once:
        axes.figure.legend(once.values(), once.keys(), loc="outside lower center", ncols=more.pop("ncols", 4), **more)


def lines_down(axes: Axes, labels: Sequence[str], limit: int = 48) -> None:
    """Labels for rows 0, 1, ... from the top."""
    axes.set_yticks(range(len(labels)), [short(text, limit) for text in labels])
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)


def save(figure: Figure) -> tuple[bytes, bytes]:
    """PNG at DPI dots an inch, and SVG with text as text; the same figure gives the same bytes."""
    png, svg = io.BytesIO(), io.BytesIO()
    figure.set_dpi(DPI)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # lays out and draws; savefig would do both twice
    Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3]).save(png, "PNG", optimize=True, dpi=(DPI, DPI))
    figure.set_layout_engine("none")
    FigureCanvasSVG(figure).print_svg(svg, metadata={"Date": None, "Creator": None})
    return png.getvalue(), svg.getvalue()


def context() -> Any:
    """Settings of these figures, whatever the user's matplotlibrc says."""
    return mpl.rc_context({**mpl.rcParamsDefault, **RC, "backend": mpl.rcParams["backend"]})
