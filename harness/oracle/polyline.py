"""Fits a stroke by a polyline whose corners lie on an even grid of wavelengths: the samples of a plotted spectrum.

The centre of a stroke in each pixel column is exact except at sharp corners, where its two arms overlap. The corners
are therefore taken from the arms: the rows at given columns solve a linear least-squares problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.linalg import solveh_banded

from .axes import Axes
from .chart import TO_NM, from_nm
from .strokes import Stroke

CORNER = 5.0
"""Columns on each side of a corner in which the two arms of a stroke overlap, or a marker hides them."""
STRAIGHT = 1e-6
"""Weight of straightness against the pixels."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Samples of one piece, ``nm``, ``knots`` (columns) and ``rows`` (k,), and its stroke's distances (m,), pixels."""

    nm: np.ndarray
    knots: np.ndarray
    rows: np.ndarray
    rest: np.ndarray


def to_nm(columns: np.ndarray, axes: Axes) -> np.ndarray:
    return TO_NM[axes.unit](axes.x.value(columns + axes.inside[1].start))


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
