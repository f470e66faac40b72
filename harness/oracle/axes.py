"""Finds the axes in a plot's pixels: frame, ticks, their labels, the horizontal title and the legend."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..errors import DataError
from .glyphs import LETTERS, NUMERIC, TRACE, read_text, which_text
from .raster import Raster

TITLES = {
    "Wavelength (nm)": "nm",
    "Wavelength (\N{MICRO SIGN}m)": "um",
    "Photon energy (eV)": "eV",
    "Wavenumber (cm\N{SUPERSCRIPT MINUS}\N{SUPERSCRIPT ONE})": "cm^-1",
    "Frequency (THz)": "THz",
}
BLACK = 150
"""Darkness from which a pixel counts as part of a black line."""
GREY = 8
"""Saturation below which a pixel counts as black ink on white."""
COLOURED = 60
"""Saturation from which a pixel counts as drawn in colour."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A straight axis: value = a + b * pixel, pixels counted at their centres."""

    a: float
    b: float

    def value(self, pixel: np.ndarray) -> np.ndarray:
        return self.a + self.b * pixel

    def pixel(self, value: np.ndarray) -> np.ndarray:
        return (value - self.a) / self.b


@dataclass(frozen=True, slots=True)
class Axes:
    """A read pair of axes.

    Attributes:
        unit: of the horizontal axis.
        x, y: scales.
        inside: rows and columns strictly inside the frame.
        x_ticks, y_ticks: pixels of the ticks; grid lines lie there.
        legend: letter and RGB colour of each entry, left to right; empty without a legend.
    """

    unit: str
    x: Scale
    y: Scale
    inside: tuple[slice, slice]
    x_ticks: np.ndarray
    y_ticks: np.ndarray
    legend: tuple[tuple[str, tuple[float, float, float]], ...]


def read_axes(raster: Raster) -> Axes:
    """Raises DataError when frame, ticks, labels or title cannot be read."""
    grey = raster.saturation < GREY
    black = raster.where(grey & (raster.darkness > BLACK))
    ink = raster.where((np.where(grey, raster.darkness, 0) / 255).astype(np.float32))
    top, bottom, left, right = frame(black)
    x_ticks = spans(black[bottom.stop + 1, left.start : right.stop]) + left.start
    y_ticks = spans(black[top.start : bottom.stop, left.start - 2]) + top.start
    below, beside = ink[bottom.stop :], ink[:, : left.start].T[::-1]
    labels, title = blocks(below[:, left.start :], "below the axes")
    name, size = which_text(below[title], tuple(TITLES))
    x = scale(x_ticks, read_labels(below[labels].T, x_ticks, size, upright=False), "horizontal")
    labels, _ = blocks(beside[:, top.start : bottom.stop], "left of the axes", join=round(0.3 * size))
    strip = beside[labels][::-1].T.copy()
    strip[: max(0, top.start - round(0.5 * size))] = strip[bottom.stop + round(0.5 * size) :] = 0  # other axis' labels
    y = scale(y_ticks, read_labels(strip, y_ticks, size, upright=True), "vertical")
    inside = (slice(top.stop, bottom.start), slice(left.stop, right.start))
    return Axes(TITLES[name], x, y, inside, x_ticks, y_ticks, read_legend(raster, ink, top.start, size))


def frame(black: np.ndarray) -> tuple[slice, slice, slice, slice]:
    """Pixel ranges of the frame's top, bottom, left and right line."""
    lines = []
    for counts, length in ((black.sum(axis=1), black.shape[1]), (black.sum(axis=0), black.shape[0])):
        full = runs(counts > 0.5 * length)
        if len(full) < 2:
            raise DataError("oracle: the plot shows no frame of axes")
        lines += [slice(*full[0]), slice(*full[-1])]
    return lines[0], lines[1], lines[2], lines[3]


def runs(mask: np.ndarray, join: int = 0) -> list[tuple[int, int]]:
    """[start, stop) of every stretch of true in (n,); stretches up to ``join`` apart are one."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    found: list[tuple[int, int]] = []
    for start, stop in edges.reshape(-1, 2).tolist():
        if found and start - found[-1][1] <= join:
            found[-1] = (found[-1][0], stop)
        else:
            found.append((start, stop))
    return found


def spans(mask: np.ndarray) -> np.ndarray:
    """Centres of the stretches of true."""
    return np.array([(start + stop - 1) / 2 for start, stop in runs(mask)])


def blocks(ink: np.ndarray, place: str, join: int = 0) -> tuple[slice, slice]:
    """Rows of the labels and of the title, going outwards from the frame past the ticks; ``join`` as in ``runs``."""
    inked = (ink > TRACE).any(axis=1)
    ticks = int(inked.argmin())  # the ticks touch the frame
    found = [slice(a + ticks, b + ticks) for a, b in runs(inked[ticks:], join)]
    if len(found) < 2:
        raise DataError(f"oracle: no labels and title {place}")
    return found[0], found[1]


def read_labels(strip: np.ndarray, ticks: np.ndarray, size: float, *, upright: bool) -> list[float]:
    """The number next to each tick. ``strip`` has one row per pixel along the axis."""
    apart = round(0.2 * size) if upright else round(0.6 * size)
    found = runs((strip > TRACE).any(axis=1), join=apart)
    centres = np.array([(a + b - 1) / 2 for a, b in found])
    if len(found) != len(ticks) or np.abs(centres - ticks).max() > size:
        raise DataError(f"oracle: {len(ticks)} ticks and {len(found)} labels do not pair up")
    return [as_number(strip[a:b] if upright else strip[a:b].T, size) for a, b in found]


def as_number(ink: np.ndarray, size: float) -> float:
    """The number in a picture; NaN when it cannot be read."""
    try:
        return float(read_text(ink, size, NUMERIC).replace("\N{MINUS SIGN}", "-"))
    except (DataError, ValueError):
        return float("nan")


def scale(ticks: np.ndarray, values: list[float], which: str) -> Scale:
    """The straight line through the ticks that most labels agree on; a misread label does not lie on it.

    Raises DataError when fewer than two labels, or fewer than 60 %, agree.
    """
    read = np.array(values)
    best = np.zeros(len(read), dtype=bool)
    for i, j in combinations(range(len(read)), 2):
        b = (read[j] - read[i]) / (ticks[j] - ticks[i])
        agreeing = np.abs(read - read[i] - b * (ticks - ticks[i])) <= 1.01 * abs(b)  # ticks lie on whole pixels
        if agreeing.sum() > best.sum():
            best = agreeing
    if best.sum() < max(2, 0.6 * len(read)):
        raise DataError(f"oracle: the labels of the {which} axis, {values}, are not evenly spaced numbers")
    b, a = np.polyfit(ticks[best], read[best], 1)
    return Scale(float(a), float(b))


def read_legend(raster: Raster, ink: np.ndarray, top: int, size: float) -> tuple:
    """Entries above the frame: a stroke of colour, then a label whose last character names the spectrum."""
    coloured = raster.where(raster.saturation > COLOURED)[:top]
    swatches = runs(coloured.any(axis=0), join=2)
    entries = []
    for i, (start, stop) in enumerate(swatches):
        end = swatches[i + 1][0] if i + 1 < len(swatches) else ink.shape[1]
        label = ink[:top, stop:end]
        letters = runs((label > TRACE).any(axis=0))
        if not letters:
            raise DataError("oracle: a stroke of the legend has no label")
        letter = read_text(label[:, slice(*letters[-1])], size, LETTERS)
        patch = raster.index[:top, start:stop][coloured[:, start:stop]]
        most = np.bincount(patch, minlength=len(raster.colors)).argmax()
        entries.append((letter, tuple(raster.colors[most].tolist())))
    return tuple(entries)
