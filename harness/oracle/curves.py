"""Coloured strokes inside the frame -> curves, by the coverage of their soft edges and by the corners of the polyline.

A plotted spectrum is a polyline whose corners are the samples. The centre of a stroke in each pixel column is exact to
a few hundredths of a pixel except at sharp corners; fitting a polyline whose corners lie on an even grid of
wavelengths recovers the samples themselves, corners included. Where no grid fits, the columns stand for the curve.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.linalg import solveh_banded
from scipy.ndimage import binary_dilation

from ..errors import DataError
from .axes import COLOURED, GREY, Axes, runs
from .chart import TO_NM, Curve, from_nm
from .raster import Raster

STEPS_NM = (50.0, 25.0, 20.0, 10.0, 5.0, 4.0, 2.5, 2.0, 1.0)
"""Sample distances that are tried, coarsest first; their grids contain 0 nm."""
GOOD_FIT = 0.25
"""Root mean square distance in pixels up to which a polyline explains a stroke."""
CORNER = 5.0
"""Columns on each side of a corner in which the two arms of a stroke overlap, or a marker hides them."""
CROSSING = 6
"""Columns beside a contact of two curves in which their soft edges mix."""
STRAIGHT = 1e-6
"""Weight of straightness against the pixels."""
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


def read_curves(raster: Raster, axes: Axes) -> list[Curve]:
    """All curves, in the legend's order; a single one is unnamed. Raises DataError when no colour is drawn."""
    dots = coloured(raster, axes)
    counts = np.bincount(dots.color, minlength=len(raster.colors)) * (raster.saturation > COLOURED)
    if not counts.any():
        raise DataError("oracle: nothing is drawn in colour inside the frame")
    if axes.legend:
        names, colors = zip(*axes.legend, strict=True)
    else:
        names, colors = ("",), (raster.colors[counts.argmax()],)
    strokes = trace(raster, dots, np.array(colors), grid_color(raster, axes))
    for name, stroke in zip(names, strokes, strict=True):
        if np.isfinite(stroke.centre).sum() < 3:
            raise DataError(f"oracle: the plot shows no curve {name or 'at all'}")
    curves = []
    for i, (name, stroke) in enumerate(zip(names, strokes, strict=True)):
        curves.append(read_curve(name, stroke, strokes[:i] + strokes[i + 1 :], axes))
    return curves


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


def read_curve(name: str, stroke: Stroke, others: list[Stroke], axes: Axes) -> Curve:
    """Splits a stroke where it is interrupted, finds the samples of each piece, and joins them."""
    pieces = [np.arange(a, b) for a, b in visible_pieces(stroke, others) if b - a > 1]
    step, fits = sample_grid(stroke, pieces, axes)
    if fits:
        fits = [settled(stroke, p, f) for p, f in zip(pieces, fits, strict=True)]
        nm, rows = np.concatenate([f.nm for f in fits]), np.concatenate([f.rows for f in fits])
    else:
        seen = np.concatenate([p[np.isfinite(stroke.centre[p])] for p in pieces])
        nm, rows = to_nm(seen, axes), stroke.centre[seen]
        step = 3 * float(np.median(np.abs(np.diff(nm))))
    order = np.argsort(nm)
    value = axes.y.value(rows + axes.inside[0].start)
    return Curve(name, nm[order], value[order], step)


def sample_grid(stroke: Stroke, pieces: list[np.ndarray], axes: Axes) -> tuple[float, list[Fit]]:
    """The coarsest even grid of wavelengths whose polyline explains all pieces, with the fits; none: (nan, []).

    A smooth curve is explained by too coarse a grid almost as well, so a grid must also leave little to its half.
    """
    thickness = float(np.quantile(stroke.extent[stroke.sure], 0.1)) if stroke.sure.any() else 1.0
    tried: dict[float, list[Fit]] = {}
    for step in STEPS_NM:
        for trial in (step, step / 2):
            if trial not in tried:
                fits = [fit_piece(stroke, p, trial, thickness, axes) for p in pieces]
                tried[trial] = [f for f in fits if f is not None] if None not in fits else []
        error, finer = rms(tried[step]), rms(tried[step / 2])
        if error < GOOD_FIT and error < 1.5 * finer + 0.03:
            return step, tried[step]
    return np.nan, []


def to_nm(columns: np.ndarray, axes: Axes) -> np.ndarray:
    return TO_NM[axes.unit](axes.x.value(columns + axes.inside[1].start))


def visible_pieces(stroke: Stroke, others: list[Stroke]) -> list[tuple[int, int]]:
    """[start, stop) columns of each unbroken piece; a break that begins and ends at another curve is only hidden."""
    found = runs(np.isfinite(stroke.centre), join=1)
    pieces = found[:1]
    for start, stop in found[1:]:
        last = pieces[-1][1]
        if any(touches(stroke, o, last - 1) and touches(stroke, o, start) for o in others):
            pieces[-1] = (pieces[-1][0], stop)
        else:
            pieces.append((start, stop))
    return pieces


def touches(stroke: Stroke, other: Stroke, column: int) -> bool:
    near = slice(max(0, column - 1), column + 2)
    distance = np.abs(other.centre[near] - stroke.centre[column]) - (other.extent[near] + stroke.extent[column]) / 2
    return bool((distance[np.isfinite(distance)] < 2).any())


@dataclass(frozen=True, slots=True)
class Fit:
    """Samples of one piece, ``nm``, ``knots`` (columns) and ``rows`` (k,), and its stroke's distances (m,), pixels."""

    nm: np.ndarray
    knots: np.ndarray
    rows: np.ndarray
    rest: np.ndarray


def rms(fits: list[Fit]) -> float:
    return float(np.sqrt(np.mean(np.concatenate([f.rest for f in fits]) ** 2))) if fits else np.inf


def fit_piece(stroke: Stroke, columns: np.ndarray, step: float, thickness: float, axes: Axes) -> Fit | None:
    """The piece as a polyline with a corner every ``step`` nm; None when its ends do not lie on that grid."""
    ends = np.sort(to_nm(columns[[0, -1]], axes))
    nm = step * np.arange(round(ends[0] / step), round(ends[1] / step) + 1)
    if len(nm) == 0:
        return None
    knots = axes.x.pixel(from_nm(axes.unit, nm)) - axes.inside[1].start
    if knots[0] > knots[-1]:
        nm, knots = nm[::-1], knots[::-1]
    for end, gap in ((0, np.diff(knots[:2])), (-1, np.diff(knots[-2:]))):
        blob = stroke.extent[columns[:4] if end == 0 else columns[-4:]].max() / 2  # half a marker, or a steep line
        reach = max(thickness / 2, min(blob, 0.45 * gap.min(initial=np.inf) - 1.5)) + 1.5  # ticks are on whole pixels
        if abs(knots[end] - columns[end]) > reach:
            return None
    if len(nm) == 1:
        return Fit(nm, knots, np.array([np.nanmean(stroke.centre[columns])]), np.zeros(1))
    return Fit(nm, knots, *polyline(columns, stroke, knots))


def settled(stroke: Stroke, columns: np.ndarray, fit: Fit) -> Fit:
    """The fit again after the shift of all corners, up to half a pixel, that leaves least.

    Ticks are drawn on whole pixels, so the scale read from them can be off by a part of one; the corners know better.
    The sum of squared distances is a parabola in the shift.
    """
    if len(fit.nm) < 3:
        return fit
    a, b, c = (float((polyline(columns, stroke, fit.knots + d)[1] ** 2).mean()) for d in (-0.4, 0.0, 0.4))
    curvature = a - 2 * b + c
    shift = 0.2 * (a - c) / curvature if curvature > 1e-6 else 0.0
    knots = fit.knots + np.clip(shift, -0.6, 0.6)
    return Fit(fit.nm, knots, *polyline(columns, stroke, knots))


def polyline(columns: np.ndarray, stroke: Stroke, knots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least-squares rows at ascending ``knots`` (k,), k >= 2, and the residuals (m,).

    The row in column x is linear between knots, so the rows at the knots solve a tridiagonal system. Residuals are
    distances from the line, undisturbed columns only. Columns at a corner count little: there the two arms overlap.
    """
    inner = np.isfinite(stroke.centre[columns]) & (columns >= knots[0]) & (columns <= knots[-1])
    x, y, sure = columns[inner], stroke.centre[columns][inner], stroke.sure[columns][inner]
    k = len(knots)
    left = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, k - 2)
    t = (x - knots[left]) / np.diff(knots)[left]
    between = np.diff(knots)[left]
    corner = np.minimum(x - knots[left], knots[left + 1] - x) < np.minimum(CORNER, between / 3)
    steep = np.gradient(y) if len(y) > 1 else np.zeros(len(y))
    weight = np.where(sure, 1.0, 1e-3) * np.where(corner, 1e-3, 1.0) / (1 + steep**2)

    def total(part: np.ndarray, at: np.ndarray) -> np.ndarray:
        return np.bincount(at, part * weight, minlength=k)

    band = np.zeros((3, k))  # upper form: row 2 the diagonal, row 1 the one above, row 0 for the smoothing
    band[2] = total((1 - t) ** 2, left) + total(t**2, left + 1)
    band[1, 1:] = total(t * (1 - t), left)[:-1]
    band += STRAIGHT * bending(k)
    rows = solveh_banded(band, total((1 - t) * y, left) + total(t * y, left + 1))
    slope = np.diff(rows)[left] / np.diff(knots)[left]
    rest = y - (rows[left] * (1 - t) + rows[left + 1] * t)
    use = sure & ~corner
    return rows, (rest / np.sqrt(1 + slope**2))[use] if use.any() else np.zeros(1)


@lru_cache(maxsize=256)
def bending(k: int) -> np.ndarray:
    """(3, k) banded upper form of the sum of squared second differences; decides where nothing is seen."""
    bend = np.diff(np.eye(k), 2, axis=0)
    full = bend.T @ bend
    band = np.zeros((3, k))
    for offset in range(min(3, k)):
        band[2 - offset, offset:] = np.diagonal(full, offset)
    return band
