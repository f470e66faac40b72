"""Response curves of astronomical filters, out of the ``speclite`` package: a measured set with no download.

The package's ECSV tables are read as files: importing speclite would load astropy, for seconds. Each curve is averaged
over the samples' bins of ``GRID_NM`` (its response is zero outside its table) and kept as published: some surveys give
total throughput with telescope and detector, some the glass alone, some scale the peak to 1.

Left out: curves that reach their peak outside 350-1000 nm or stay below 2 %, and near-duplicates: in alphabetical
order, a curve goes if, both scaled to peak 1, it nowhere differs by more than ``ALIKE`` from one already kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import metadata, util
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError
from ..spectrum import SpectraSet, Spectrum

GRID_NM = np.arange(350.0, 1001.0, 10.0)
ALIKE = 0.15
FAINT = 0.02
_UNIT_NM = {"Angstrom": 0.1, "nm": 1.0, "micron": 1000.0}


def load(declaration: Mapping[str, Any], base: Path) -> SpectraSet:
    """``{name: filters}``.

    Raises:
        DataError: speclite is not installed, or its files are not what they were.
    """
    kept: list[Spectrum] = []
    shapes = np.empty((0, len(GRID_NM)))
    for path in sorted(folder().glob("*.ecsv"), key=lambda p: p.name):
        wavelength, response = read(path)
        if not GRID_NM[0] <= wavelength[response.argmax()] <= GRID_NM[-1]:
            continue
        binned = average(wavelength, response)
        shape = binned / binned.max()
        if binned.max() < FAINT or (np.abs(shapes - shape).max(axis=1, initial=0) <= ALIKE).any():
            continue
        kept.append(Spectrum(path.stem, GRID_NM, binned, "transmission"))
        shapes = np.vstack([shapes, shape])
    return SpectraSet(
        name="filters", kind="measured", licence="BSD-3-Clause",
        source=f"speclite {metadata.version('speclite')}, data/filters", quantity="transmission", spectra=tuple(kept),
        description="Published response curves of astronomical filters, averaged over 10 nm; near-duplicates left out.",
    )


def folder() -> Path:
    """Where the installed package keeps its curves.

    Raises:
        DataError: it is not installed.
    """
    spec = util.find_spec("speclite")  # finds the package without importing it
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(place) / "data" / "filters").is_dir():
            return Path(place) / "data" / "filters"
    raise DataError("dataset 'filters': the package speclite is not installed; pip install 'isoprobe[data]'")


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Wavelength (n,) nm, ascending, and response (n,) of one ECSV table with two columns.

    Raises:
        DataError: another layout or unit.
    """
    head, _, body = path.read_text(encoding="utf-8").partition("\nwavelength response\n")
    unit = re.search(r"name: wavelength, unit: (\w+)", head)
    try:
        values = np.array(body.split(), dtype=np.float64).reshape(-1, 2)
        wavelength = values[:, 0] * _UNIT_NM[unit[1] if unit else "?"]
    except (ValueError, KeyError):
        raise DataError(f"{path}: not a table of wavelength (Angstrom, nm, micron) and response as in speclite 1.0; "
                        "install that version") from None
    if len(values) < 3 or not np.isfinite(values).all() or (np.diff(wavelength) <= 0).any():
        raise DataError(f"{path}: wavelengths must ascend and all values be finite, at least 3 of them")
    return wavelength, values[:, 1].clip(min=0)


def average(wavelength: np.ndarray, response: np.ndarray) -> np.ndarray:
    """(len(GRID_NM),) mean of the piecewise linear curve over +-5 nm around each grid wavelength."""
    half = (GRID_NM[1] - GRID_NM[0]) / 2
    edges = np.append(GRID_NM - half, GRID_NM[-1] + half)
    w = np.union1d(wavelength, edges)
    y = np.interp(w, wavelength, response, left=0.0, right=0.0)
    area = np.concatenate([[0.0], np.cumsum((y[1:] + y[:-1]) / 2 * np.diff(w))])
    return np.diff(area[np.searchsorted(w, edges)]) / (2 * half)
