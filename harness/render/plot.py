"""Line plots of spectra as PNG: 800 x 500 pixels, labelled axes, removed samples as breaks (paper 1, section 3.2)."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ..probe import View
from ..spectrum import AxisUnit, Spectrum
from .canvas import Canvas, text_stamp
from .style import PlotStyle, axis_of, style_of
from .table import AXIS_TITLES, quantity_of

MARGIN = 0.05
"""Free space on each side of the data, as a fraction of their range: matplotlib's default."""
INK = "#000000"
Limits = tuple[float, float]

_drawing = threading.Lock()


def render_plot(spectra: Sequence[Spectrum], names: Sequence[str], view: View) -> bytes:
    """The spectra as lines in one pair of axes, PNG bytes; the same bytes for one input and library version.

    Limits follow the *shown* data (plus 5 %), as any plotting program would draw a file with missing rows: what was cut
    at an end is as absent as the rows of a table, not a suggestive blank. A view may fix them with ``x_limits``.
    Samples removed in the middle break the line. A legend stands above the axes when there are several spectra,
    where it cannot hide data. ``view.order: descending`` mirrors the axis.

    Args:
        spectra: the evidence, one or more, of one quantity.
        names: a name for each, shown in the legend.
        view: ``unit``, ``order``, ``style`` (see ``PlotStyle``).

    Raises:
        DataError: unknown unit or setting, or spectra of several quantities.
    """
    style, unit = style_of(PlotStyle, view), axis_of(view)
    quantity = quantity_of(spectra, names, view)
    with _drawing:
        canvas = _canvas(style.width, style.height, style.dpi, style.font_size)
        canvas.clear()
        axes = Axes(canvas, style, x_limits(spectra, unit, style, view.order), y_limits(spectra, style))
        axes.draw(AXIS_TITLES[unit.name], quantity.replace("_", " ").capitalize())
        if len(spectra) > 1:
            axes.legend([style.legend.format(name=n) for n in names])
        for i, s in enumerate(spectra):
            axes.curve(unit.from_nm(s.wavelength_nm), s.response, breaks(s, style.gap), axes.color(i))
        return canvas.png()


@lru_cache(maxsize=4)
def _canvas(width: int, height: int, dpi: int, font_size: float) -> Canvas:
    return Canvas(width, height, dpi, font_size)


def breaks(spectrum: Spectrum, gap: float) -> np.ndarray:
    """Indices i where the line is broken before sample i: steps in nm above ``gap`` times the median step."""
    steps = np.diff(spectrum.wavelength_nm)
    return np.flatnonzero(steps > gap * np.median(steps)) + 1


def x_limits(spectra: Sequence[Spectrum], unit: AxisUnit, style: PlotStyle, order: str) -> Limits:
    """Left and right end of the axis in the displayed unit."""
    if isinstance(style.x_limits, str):
        ends = unit.from_nm(np.array([nm for s in spectra for nm in s.wavelength_nm[[0, -1]]]))
        low, high = widened(ends.min(), ends.max())
    else:
        low, high = sorted(unit.from_nm(np.array(style.x_limits, dtype=float)).tolist())
    return (high, low) if order == "descending" else (low, high)


def y_limits(spectra: Sequence[Spectrum], style: PlotStyle) -> Limits:
    if not isinstance(style.y_limits, str):
        return style.y_limits
    return widened(min(s.response.min() for s in spectra), max(s.response.max() for s in spectra))


def widened(low: float, high: float) -> Limits:
    """The range plus ``MARGIN`` on both sides; a constant gets room around it."""
    pad = MARGIN * (high - low) or MARGIN * abs(high) or MARGIN
    return float(low - pad), float(high + pad)


def nice_ticks(low: float, high: float, at_most: int) -> tuple[list[float], list[str]]:
    """Round tick positions inside the limits, at most ``at_most``, and their labels with a proper minus sign."""
    low, high = min(low, high), max(low, high)
    rough = (high - low) / at_most
    power = 10.0 ** math.floor(math.log10(rough))
    step, first, last = 0.0, 0, 0
    for factor in (1, 2, 2.5, 5, 10, 20):
        step = factor * power
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first + 1 <= at_most:
            break
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    if not math.isclose(round(step, digits), step, rel_tol=1e-6):
        digits += 1  # steps of 2.5
    ticks = [i * step for i in range(first, last + 1)]
    return ticks, [f"{t + 0.0:.{digits}f}".replace("-", "\N{MINUS SIGN}") for t in ticks]


class Axes:
    """One pair of axes on a canvas: where the frame lies, what the ticks say and how data become pixels."""

    def __init__(self, canvas: Canvas, style: PlotStyle, x: Limits, y: Limits):
        em = style.font_size * style.dpi / 72
        self.canvas, self.style, self.em, self.x, self.y = canvas, style, em, x, y
        self.point = style.dpi / 72
        # centres of the frame's pixels
        self.top, self.bottom = round(2.2 * em) + 0.5, style.height - round(3.8 * em) - 0.5
        self.y_ticks, self.y_labels = nice_ticks(*y, at_most=max(3, round((self.bottom - self.top) / (2.5 * em))))
        widest = max(text_stamp(t, style.dpi, style.font_size).shape[1] for t in self.y_labels)
        self.left = round(max(5.2 * em, 2.9 * em + widest)) + 0.5  # the same for all usual labels
        self.right = style.width - round(1.6 * em) - 0.5
        self.x_ticks, self.x_labels = nice_ticks(*x, at_most=max(3, round((self.right - self.left) / (4.5 * em))))

    def color(self, i: int) -> str:
        return self.style.colors[i % len(self.style.colors)]

    def to_x(self, values: np.ndarray) -> np.ndarray:
        return self.left + (values - self.x[0]) / (self.x[1] - self.x[0]) * (self.right - self.left)

    def to_y(self, values: np.ndarray) -> np.ndarray:
        return self.bottom - (values - self.y[0]) / (self.y[1] - self.y[0]) * (self.bottom - self.top)

    def draw(self, x_title: str, y_title: str) -> None:
        """Grid, frame, ticks, tick labels and titles."""
        em, style, canvas = self.em, self.style, self.canvas
        xs, ys = self.to_x(np.array(self.x_ticks)), self.to_y(np.array(self.y_ticks))
        if style.grid:
            canvas.lines(
                [segment(x, self.top, x, self.bottom) for x in xs] + [segment(self.left, y, self.right, y) for y in ys],
                style.grid_color,
                0.8,
                snap=True,
            )
        tick = 3.5 * self.point
        frame = segment(
            self.left,
            self.bottom,
            self.right,
            self.bottom,
            self.right,
            self.top,
            self.left,
            self.top,
            self.left,
            self.bottom,
            self.right,
            self.bottom,
        )
        canvas.lines(
            [frame]
            + [segment(x, self.bottom, x, self.bottom + tick) for x in xs]
            + [segment(self.left - tick, y, self.left, y) for y in ys],
            INK,
            0.8,
            snap=True,
        )
        for x, label in zip(xs, self.x_labels, strict=True):
            canvas.text(x, self.bottom + 0.55 * em, label, align=(0.5, 0))
        for y, label in zip(ys, self.y_labels, strict=True):
            canvas.text(self.left - 0.6 * em, y, label, align=(1, 0.44))
        canvas.text((self.left + self.right) / 2, style.height - 0.5 * em, x_title, align=(0.5, 1))
        canvas.text(0.6 * em, (self.top + self.bottom) / 2, y_title, align=(0, 0.5), upright=True)

    def legend(self, labels: Sequence[str]) -> None:
        """A row of line samples with their labels above the axes, flush right."""
        em, middle = self.em, 1.15 * self.em
        widths = [2.7 * em + text_stamp(t, self.style.dpi, self.style.font_size).shape[1] for t in labels]
        x = self.right - sum(widths) - 1.2 * em * (len(labels) - 1)
        for i, (label, width) in enumerate(zip(labels, widths, strict=True)):
            self.canvas.lines([segment(x, middle, x + 2 * em, middle)], self.color(i), self.style.line_width)
            if self.style.markers != "none":
                self._markers(np.array([[x + em, middle]]), self.color(i), clip=False)
            self.canvas.text(x + 2.7 * em, middle, label, align=(0, 0.5))
            x += width + 1.2 * em

    def curve(self, x: np.ndarray, y: np.ndarray, breaks: np.ndarray, color: str) -> None:
        """The samples as a line, broken before the indices ``breaks``; a lone sample between breaks is a dot."""
        points = np.column_stack([self.to_x(x), self.to_y(y)])
        pieces = np.split(points, breaks)
        clip = (self.left, self.top, self.right, self.bottom)
        lines = [p for p in pieces if len(p) > 1]
        if lines:
            self.canvas.lines(lines, color, self.style.line_width, clip=clip)
        for lone in (p for p in pieces if len(p) == 1):
            self.canvas.markers(lone, "circle", 2 * self.style.line_width, color, clip=clip)
        if self.style.markers != "none":
            self._markers(points, color, clip=True)

    def _markers(self, points: np.ndarray, color: str, *, clip: bool) -> None:
        box = (self.left, self.top, self.right, self.bottom) if clip else (0, 0, self.style.width, self.style.height)
        self.canvas.markers(points, self.style.markers, self.style.marker_size, color, clip=box)


def segment(*xy: float) -> np.ndarray:
    return np.array(xy, dtype=float).reshape(-1, 2)
