"""From the axis of somebody's table to ascending wavelengths in nm, with the mistakes that people make."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..errors import DataError, near
from ..spectrum import AXIS_UNITS

PLAUSIBLE_NM = (100.0, 30_000.0)
"""Vacuum ultraviolet to thermal infrared. Every unit but the right one usually falls outside."""


def to_nm(axis: np.ndarray, unit: str, place: Callable[[int], str], path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Wavelengths (n,) in nm, ascending, and the (n,) indices that sort the table's samples so.

    An axis may ascend or descend; ``place(i)`` names the cell of its sample i.

    Raises:
        DataError: unknown unit, fewer than 3 samples, equal or unsorted values, or values that fit another unit.
    """
    if unit not in AXIS_UNITS:
        raise DataError(f"{path}: dataset.unit: {unit!r} is not a unit of the axis{near(unit, AXIS_UNITS)}")
    if len(axis) < 3:
        raise DataError(f"{path}: {len(axis)} samples; a spectrum needs at least 3")
    steps = np.diff(axis)
    direction = 1.0 if (steps > 0).sum() >= (steps < 0).sum() else -1.0
    for i in np.flatnonzero(steps * direction <= 0):
        wrong, right = ("stands twice", "differ") if steps[i] == 0 else (f"follows {axis[i]:g}", "be sorted")
        raise DataError(f"{place(int(i) + 1)}: {axis[i + 1]:g} {wrong}; "
                        f"{AXIS_UNITS[unit].quantity.replace('_', ' ')} values must {right}")
    if (axis <= 0).any():
        raise DataError(f"{place(int(np.flatnonzero(axis <= 0)[0]))}: {axis.min():g} {unit}; the axis must be positive")
    wavelength = _from(axis, unit)
    if not _plausible(wavelength):
        fits = likely_units(axis)
        hint = f"it looks like {' or '.join(fits)}; declare unit: {fits[0].split()[0]}" if fits else "no unit fits it"
        raise DataError(f"{place(0)}: the axis runs from {axis[0]:g} to {axis[-1]:g}, which cannot be {unit}; {hint}")
    order = np.argsort(wavelength, kind="stable")
    return wavelength[order], order


def likely_units(axis: np.ndarray) -> list[str]:
    """``um (450-730 nm)``: the common units, or else the rarer ones, that put the axis into an optical range."""
    for units in (("nm", "um", "eV"), ("cm^-1", "THz")):
        spans = {unit: _from(axis, unit) for unit in units}
        fits = [f"{u} ({w.min():.0f}-{w.max():.0f} nm)" for u, w in spans.items() if w.min() >= 150 and w.max() <= 3000]
        if fits:
            return fits
    return []


def _from(axis: np.ndarray, unit: str) -> np.ndarray:
    """Wavelengths in nm; the energy-like units are their own inverse."""
    known = AXIS_UNITS[unit]
    return known.from_nm(axis) if known.descending else axis / known.from_nm(np.ones(1))


def _plausible(wavelength: np.ndarray) -> bool:
    return PLAUSIBLE_NM[0] <= wavelength.min() and wavelength.max() <= PLAUSIBLE_NM[1]
