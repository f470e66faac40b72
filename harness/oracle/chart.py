"""What a reader gets out of a table or a plot: curves sampled over wavelength, and where nothing was shown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import DataError, near

HC = 1239.841984
"""eV nm; written here again so that a slip in the renderer's constant cannot cancel itself."""
TO_NM = {
    "nm": lambda x: x,
    "um": lambda x: x * 1000.0,
    "eV": lambda x: HC / x,
    "cm^-1": lambda x: 1e7 / x,
    "THz": lambda x: 299792.458 / x,
}
"""Displayed axis value -> wavelength in nm; every entry but the first two is its own inverse."""


def from_nm(unit: str, nm: np.ndarray) -> np.ndarray:
    """Wavelengths in nm as displayed values of ``unit``."""
    return nm / 1000.0 if unit == "um" else TO_NM[unit](nm)


LEVEL = 0.0025
"""Between two equal extreme samples the curve may leave their value by this much and still be one plateau: tables show
three decimals, so the last digit of neighbours is rounding."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One spectrum as shown.

    Attributes:
        name: its suffix in the header or its letter in the legend; "" when it is alone.
        nm: (n,) ascending wavelengths of the shown samples.
        value: (n,) response.
        step: usual distance of neighbouring samples, nm.
    """

    name: str
    nm: np.ndarray
    value: np.ndarray
    step: float

    def holes(self) -> list[tuple[float, float]]:
        """(low, high) of every stretch between two shown samples that is wider than 1.5 steps."""
        wide = np.flatnonzero(np.diff(self.nm) > 1.5 * self.step)
        return [(float(self.nm[i]), float(self.nm[i + 1])) for i in wide]

    def within(self, low: float, high: float) -> Curve:
        """The samples with low <= nm <= high; may be empty."""
        inside = (self.nm >= low) & (self.nm <= high)
        return Curve(self.name, self.nm[inside], self.value[inside], self.step)

    def extremum(self, which: str) -> tuple[float, float]:
        """(nm, value) of the ``minimum`` or ``maximum``; the middle of a plateau, level to within ``LEVEL``.

        Raises DataError when samples apart from each other show the same extreme value: nothing shown decides then.
        """
        if not len(self.nm):
            raise DataError(f"oracle: spectrum {self.name!r} shows no sample in the range that is asked about")
        best = self.value.min() if which == "minimum" else self.value.max()
        at = np.flatnonzero(self.value == best)
        if abs(self.value[at[0] : at[-1] + 1] - best).max() > LEVEL:
            places = ", ".join(f"{nm:.0f} nm" for nm in self.nm[at])
            raise DataError(
                f"oracle: the {which} of spectrum {self.name!r} shows as {best:g} at {places}; "
                "more digits, or a clearer spectrum, would decide"
            )
        return float(self.nm[at].mean()), float(best)


@dataclass(frozen=True, slots=True)
class Chart:
    """All curves of one table or plot; ``unit`` is the displayed unit of the axis."""

    unit: str
    curves: tuple[Curve, ...]

    def curve(self, name: str) -> Curve:
        """The curve of that name. Raises DataError."""
        for curve in self.curves:
            if curve.name == name:
                return curve
        raise DataError(f"oracle: the evidence shows no spectrum {name!r}{near(name, [c.name for c in self.curves])}")


def sampled(name: str, unit: str, axis: np.ndarray, value: np.ndarray) -> Curve:
    """A curve from displayed samples in any order."""
    nm = TO_NM[unit](axis)
    order = np.argsort(nm)
    nm = nm[order]
    return Curve(name, nm, value[order], float(np.median(np.diff(nm))))
