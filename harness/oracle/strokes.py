"""Coloured pixels inside the frame -> strokes: where each line runs, column by column, to hundredths of a pixel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import binary_dilation

from ..errors import DataError
from .axes import COLOURED, GREY, Axes
from .raster import Raster

CROSSING = 6
"""Columns beside a contact of two curves in which their soft edges mix."""
FAINT = 0.06
"""Coverage below this is rounding of the image's 16 shades."""


@dataclass(frozen=True, slots=True)
class Stroke:
    """One curve by pixel columns inside the frame.

    Attributes:
        centre: (w,) row of the stroke's centre, NaN where it is not seen.
        extent: (w,) covered pixels in the column.
        sure: (w,) bool: centre not disturbed by another curve.
    """

    centre: np.ndarray
    extent: np.ndarray
    sure: np.ndarray


@dataclass(frozen=True, slots=True)
class Dots:
    """The coloured pixels inside the frame, in the order of columns and down each column; every array is (m,).

    Attributes:
        row, column: position inside the frame.
        color: palette index.
        grid: whether a grid line may lie under the pixel.
        shape: (rows, columns) inside the frame.
    """

    row: np.ndarray
    column: np.ndarray
    color: np.ndarray
    grid: np.ndarray
    shape: tuple[int, int]


def read_strokes(raster: Raster, axes: Axes) -> dict[str, Stroke]:
    """The strokes by name, in the legend's order; a single one is named "". Raises DataError when none is drawn."""
    dots = coloured(raster, axes)
    counts = np.bincount(dots.color, minlength=len(raster.colors)) * (raster.saturation > COLOURED)
    if not counts.any():
        raise DataError("oracle: nothing is drawn in colour inside the frame")
    if axes.legend:
        names, colors = zip(*axes.legend, strict=True)
    else:
        names, colors = ("",), (raster.colors[counts.argmax()],)
    strokes = dict(zip(names, trace(raster, dots, np.array(colors), grid_color(raster, axes)), strict=True))
    for name, stroke in strokes.items():
        if np.isfinite(stroke.centre).sum() < 3:
            raise DataError(f"oracle: the plot shows no curve {name or 'at all'}")
    return strokes


def coloured(raster: Raster, axes: Axes) -> Dots:
    """Finds the few thousand pixels that matter among the hundreds of thousands."""
    inside = raster.index[axes.inside].T  # columns first
    column, row = np.divmod(np.flatnonzero(np.take(raster.saturation >= GREY, inside)), inside.shape[1])
    lines = np.isin(row, grid_rows(axes)) | np.isin(column, grid_columns(axes))
    return Dots(row, column, inside[column, row], lines, inside.T.shape)


def grid_rows(axes: Axes) -> np.ndarray:
    return np.round(axes.y_ticks).astype(int) - axes.inside[0].start


def grid_columns(axes: Axes) -> np.ndarray:
    return np.round(axes.x_ticks).astype(int) - axes.inside[1].start


def grid_color(raster: Raster, axes: Axes) -> np.ndarray:
    """The usual grey on the rows of the ticks; white without a grid."""
    inside = raster.index[axes.inside]
    rows = [r for r in grid_rows(axes).tolist() if 0 <= r < len(inside)]  # a tick can also lie on the frame
    counts = np.bincount(inside[rows].ravel(), minlength=len(raster.colors)) * (raster.saturation < GREY)
    return raster.colors[counts.argmax()]


def trace(raster: Raster, dots: Dots, colors: np.ndarray, grid: np.ndarray) -> list[Stroke]:
    """The strokes of all ``colors`` (k, 3) over white and over a grid of that colour."""
    plain, lined = (coverage(raster.colors, background, colors) for background in (np.full(3, 255.0), grid))
    alphas = np.where(dots.grid, lined[:, dots.color], plain[:, dots.color])
    if len(colors) > 1:
        alphas = alphas * (owners(raster.colors, colors, dots) == np.arange(len(colors))[:, None])
    width = dots.shape[1]
    strokes = []
    for alpha in alphas:
        extent = np.bincount(dots.column, alpha, minlength=width)
        seen = extent > 0.5
        centre = np.full(width, np.nan)
        centre[seen] = np.bincount(dots.column, alpha * dots.row, minlength=width)[seen] / extent[seen]
        strokes.append(Stroke(centre, extent, seen))
    return [apart(strokes, i) for i in range(len(strokes))]


def coverage(palette: np.ndarray, background: np.ndarray, colors: np.ndarray) -> np.ndarray:
    """(k, n): how much of each palette colour is stroke k over ``background``, by projection."""
    ink = background - colors
    table = (background - palette) @ ink.T / (ink**2).sum(axis=1)
    return np.where(table < FAINT, 0, np.minimum(table, 1)).T


def owners(palette: np.ndarray, colors: np.ndarray, dots: Dots) -> np.ndarray:
    """(m,) the curve that each pixel belongs to, -1 for none.

    A strong colour decides by itself. A pale one could be the edge of several curves, and goes with the nearest strong
    pixel of its column.
    """
    distance = ((palette[:, None] - colors[None]) ** 2).sum(axis=2)
    strong = (distance.min(axis=1) < 0.25 * np.sort(distance, axis=1)[:, 1]) & (np.ptp(palette, axis=1) > COLOURED)
    owner = np.where(strong, distance.argmin(axis=1), -1)[dots.color]
    place = dots.column * 2 * dots.shape[0] + dots.row  # columns lie further apart than any two of their rows
    sources, pale = np.flatnonzero(owner >= 0), np.flatnonzero(owner < 0)
    if len(sources):
        after = np.searchsorted(sources, pale)
        choices = sources[np.clip([after - 1, after], 0, len(sources) - 1)]
        reach = np.abs(place[choices] - place[pale])
        nearest = np.where(reach[0] <= reach[1], choices[0], choices[1])
        owner[pale] = np.where(reach.min(axis=0) < 40, owner[nearest], -1)
    return owner


def apart(strokes: list[Stroke], i: int) -> Stroke:
    """Stroke ``i`` with the columns marked as unsure in and around which another one touches it."""
    me, unsure = strokes[i], ~strokes[i].sure
    for other in strokes[:i] + strokes[i + 1 :]:
        with np.errstate(invalid="ignore"):
            unsure |= np.abs(me.centre - other.centre) < (me.extent + other.extent) / 2 + 1.5
    if len(strokes) > 1:
        unsure = binary_dilation(unsure, iterations=CROSSING)
    return Stroke(me.centre, me.extent, me.sure & ~unsure)
