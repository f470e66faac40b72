"""The two kinds of location answers: which band holds the extremum, or which side of a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ..probe import ABSTAIN
from ..spectrum import Spectrum
from .pool import extremum_index


def band_key(lo: float, hi: float) -> str:
    """Canonical key of a band: its ends in nm, whatever unit a view shows."""
    return f"{lo:g}-{hi:g}"


def band_keys(bounds: Sequence[float]) -> tuple[str, ...]:
    return tuple(band_key(lo, hi) for lo, hi in pairwise(bounds))


def band_of(nm: float, bounds: Sequence[float]) -> str:
    """Key of the band that holds ``nm``, or "" outside all."""
    return next((band_key(lo, hi) for lo, hi in pairwise(bounds) if lo <= nm <= hi), "")


def clear_of(nm: float, bounds: Sequence[float], margin: float) -> bool:
    """Whether ``nm`` keeps ``margin`` nm from every internal boundary and lies within the outer ones."""
    return bounds[0] <= nm <= bounds[-1] and all(abs(nm - b) >= margin for b in bounds[1:-1])


def side_of(nm: float, threshold: float) -> str:
    return "longer" if nm > threshold else "shorter"


def clear_side(spectrum: Spectrum, threshold: float, extremum: str, margin_nm: float, relative: float) -> bool:
    """Whether the extremum is ``margin_nm`` from the threshold and beats the other side by ``relative`` of its value.

    Gold: 10 nm and 3 % of the peak absorbance (section 3.1).
    """
    w, r = spectrum.wavelength_nm, spectrum.response
    i = extremum_index(r, extremum)
    if abs(w[i] - threshold) < margin_nm:
        return False
    other = r[w < threshold] if w[i] > threshold else r[w > threshold]
    if not len(other):
        return False
    best = other.max() if extremum == "maximum" else other.min()
    return bool(abs(r[i] - best) >= relative * abs(r[i]) and best != r[i])


def visible(spectrum: Spectrum, extremum: str, within: tuple[float, float], remove: tuple[float, float] | None) -> float:
    """Wavelength of the extremum among the samples within ``within`` and outside ``remove`` (closed, nm)."""
    w = spectrum.wavelength_nm
    keep = (w >= within[0]) & (w <= within[1])
    if remove is not None:
        keep &= ~((w >= remove[0]) & (w <= remove[1]))
    index = np.flatnonzero(keep)
    return float(w[index[extremum_index(spectrum.response[index], extremum)]])


class Location:
    """What a sufficiency or scope task asks: a band or a side, as declared; ``options`` are in displayed order."""

    def __init__(self, bands: Sequence[float] | None, threshold: float | None):
        self.bands, self.threshold = bands, threshold

    @property
    def options(self) -> tuple[str, ...]:
        return (*(band_keys(self.bands) if self.bands else ("shorter", "longer")), ABSTAIN)

    def of(self, nm: float) -> str:
        """Key of the answer, or "" where bands narrower than the data leave a wavelength without one."""
        return band_of(nm, self.bands) if self.bands else side_of(nm, self.threshold)
