"""Smooth made-up spectra for the tests of rendering and reading."""

from __future__ import annotations

import numpy as np

from harness.probe import View
from harness.spectrum import Spectrum

METASURFACE_NM = np.arange(450.0, 731.0, 10.0)
GOLD_NM = np.arange(450.0, 801.0, 5.0)


def dip(
    at: float, depth: float = 0.6, width: float = 22.0, top: float = 0.8, nm: np.ndarray = METASURFACE_NM
) -> Spectrum:
    """A Lorentzian dip of transmission."""
    return Spectrum(f"dip-{at:g}", nm, top - depth / (1 + ((nm - at) / width) ** 2), "transmission")


def peak(at: float, height: float = 0.9, width: float = 45.0, nm: np.ndarray = GOLD_NM) -> Spectrum:
    """A broad absorbance peak on a falling base line, like that of a gold colloid."""
    base = 0.5 * np.exp(-(nm - 300) / 180)
    return Spectrum(f"peak-{at:g}", nm, base + height * np.exp(-(((nm - at) / width) ** 2)), "absorbance")


def wild(rng: np.random.Generator, nm: np.ndarray = METASURFACE_NM) -> Spectrum:
    """Up to four random resonances, with a little noise."""
    response = np.full(len(nm), rng.uniform(0.5, 0.95))
    for _ in range(rng.integers(1, 5)):
        at, width = rng.uniform(nm[0], nm[-1]), rng.uniform(8, 60)
        response = response - rng.uniform(-0.1, 0.5) / (1 + ((nm - at) / width) ** 2)
    return Spectrum("wild", nm, response + rng.normal(0, 0.004, len(nm)), "transmission")


def without(spectrum: Spectrum, low: float, high: float) -> Spectrum:
    """The spectrum with the samples in [low, high] nm removed."""
    nm = spectrum.wavelength_nm
    return spectrum.keep((nm < low) | (nm > high))


def table_view(unit: str = "nm", kind: str = "csv", order: str = "", **style) -> View:
    return View("table_x", "table", kind, unit, order, style=style)


def plot_view(unit: str = "nm", order: str = "", **style) -> View:
    return View("plot_x", "plot", "plot", unit, order, style=style)
