"""Gauges: readings and limits from a written log, or from the pixels of drawn dials."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from PIL import Image

from ..errors import DataError
from .print import best_text

_LINE = re.compile(r"^(\w+): (?:reading (-?[\d.]+) \S+)?(?:, )?(?:limits (-?[\d.]+) to (-?[\d.]+) \S+)?$", re.M)
START, SWEEP = 150.0, 240.0
"""A dial runs clockwise from lower left over the top to lower right: degrees clockwise from three o'clock."""
SCALES = ("5", "10", "20", "25", "30", "40", "50", "60", "80", "100", "120", "150", "200")


@dataclass(frozen=True, slots=True)
class Gauges:
    """Name -> limits, name -> reading, as far as they are shown."""

    limits: dict[str, tuple[float, float]]
    reading: dict[str, float]


def of_log(text: str) -> Gauges:
    limits, reading = {}, {}
    for name, value, low, high in _LINE.findall(text):
        if value:
            reading[name] = float(value)
        if low:
            limits[name] = (float(low), float(high))
    return Gauges(limits, reading)


@lru_cache(maxsize=64)
def of_panel(png: bytes, names: tuple[str, ...]) -> Gauges:
    """Finds the dials by their rims, reads the name below, the end of the scale, the needle and the green band.

    Raises:
        DataError: not as many dials as names.
    """
    from scipy.ndimage import find_objects, label

    rgb = np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(float)
    dark = rgb.max(axis=2) < 130
    rims = [box for box in find_objects(label(dark, np.ones((3, 3)))[0])
            if 100 < box[0].stop - box[0].start and 100 < box[1].stop - box[1].start]
    if len(rims) != len(names):
        raise DataError(f"oracle: {len(rims)} dials on the panel for {len(names)} gauges")
    limits, reading = {}, {}
    for box in rims:
        x, y = (box[1].start + box[1].stop - 1) / 2, (box[0].start + box[0].stop - 1) / 2
        name = _name(rgb, x, box[0].stop, names)
        full = _full_scale(rgb, x, y)
        if full is None:
            continue
        band, needle = _band(rgb, x, y), _needle(rgb, x, y)
        if band:
            limits[name] = (band[0] * full, band[1] * full)
        if needle is not None:
            reading[name] = needle * full
    return Gauges(limits, reading)


def _ink(rgb: np.ndarray) -> np.ndarray:
    return 1 - rgb.min(axis=2) / 255


def _name(rgb: np.ndarray, x: float, bottom: int, names: Sequence[str]) -> str:
    strip = (_ink(rgb[bottom + 2 : bottom + 34, int(x - 80) : int(x + 80)]) - 0.04).clip(0)
    columns = np.flatnonzero((strip > 0.3).any(axis=0))
    # the unit follows in brackets, so only the first part of the line is compared
    return best_text(strip[:, max(columns[0] - 1, 0) : columns[0] + 90], names, 15)[0]


def _full_scale(rgb: np.ndarray, x: float, y: float) -> float | None:
    """The number at the last tick; None for a covered dial."""
    angle = np.radians(START + SWEEP)
    cx, cy = x + 39 * np.cos(angle), y + 39 * np.sin(angle)
    patch = rgb[int(cy - 8) : int(cy + 9), int(cx - 15) : int(cx + 16)]
    grey = patch[np.ptp(patch, axis=2) < 40]
    if np.median(grey.min(axis=1)) < 230:
        return None
    ink = np.where(np.ptp(patch, axis=2) < 60, _ink(patch), 0)
    return float(best_text(ink, SCALES, 10)[0])


def _polar(rgb: np.ndarray, x: float, y: float, radii: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Shares of the scale from 0 to 1, and the mean colour there over some radii."""
    share = np.linspace(0, 1, 961)
    angle = np.radians(START + SWEEP * share)
    picked = [
        rgb[np.rint(y + r * np.sin(angle)).astype(int), np.rint(x + r * np.cos(angle)).astype(int)] for r in radii
    ]
    return share, np.mean(picked, axis=0)


def _band(rgb: np.ndarray, x: float, y: float) -> tuple[float, float] | None:
    share, colour = _polar(rgb, x, y, (59, 60, 61, 63, 64))
    green = colour[:, 1] - (colour[:, 0] + colour[:, 2]) / 2 > 45
    return (float(share[green][0]), float(share[green][-1])) if green.sum() > 20 else None


def _needle(rgb: np.ndarray, x: float, y: float) -> float | None:
    share, colour = _polar(rgb, x, y, (20, 24, 28, 32))
    red = (colour[:, 0] - colour[:, 1]).clip(0)
    return float((share * red**2).sum() / (red**2).sum()) if red.max() > 60 else None
