"""Strokes -> sampled curves: breaks, the grid of the samples, and the samples themselves.

Where no even grid of wavelengths explains a stroke, its pixel columns stand for the curve.
"""

from __future__ import annotations

import numpy as np

from .axes import Axes, runs
from .chart import Curve
from .polyline import Fit, fit_piece, rms, settled, to_nm
from .raster import Raster
from .strokes import Stroke, read_strokes

STEPS_NM = (50.0, 25.0, 20.0, 10.0, 5.0, 4.0, 2.5, 2.0, 1.0)
"""Sample distances that are tried, coarsest first; their grids contain 0 nm."""
GOOD_FIT, CLOSE_FIT = 0.25, 0.07
"""Root mean square distance in pixels up to which a polyline can explain a stroke, and up to which it does."""


def read_curves(raster: Raster, axes: Axes) -> list[Curve]:
    """All curves, in the legend's order; a single one is unnamed. Raises DataError when no colour is drawn."""
    strokes = read_strokes(raster, axes)
    return [
        read_curve(name, stroke, [other for other in strokes.values() if other is not stroke], axes)
        for name, stroke in strokes.items()
    ]


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
        if error < CLOSE_FIT or (error < GOOD_FIT and error < 1.5 * finer + 0.03):
            return step, tried[step]
    return np.nan, []


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
