"""Transmission of silicon-on-glass metasurfaces: the published MOCLIP file, or the simulated stand-in.

MOCLIP (Figshare 30772553, CC BY 4.0) holds ``wvl`` (29,) nm, ``spectra_x`` and ``spectra_y`` (N, 29), ``params`` (N, 2)
and ``geom``. An older release has ``geometries`` and ``cell_images`` instead of ``geom``, and the spectra transposed,
(29, N). Only wavelengths and spectra are read.
"""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError, near
from ..settings import dataset_path
from ..spectrum import SpectraSet, Spectrum
from .archive import MIB, check_zip

POLARIZATIONS = ("x", "y")
LIMIT = 256 * MIB
GRID_NM = np.arange(450.0, 731.0, 10.0)


def load(declaration: Mapping[str, Any], base: Path) -> SpectraSet:
    """``{name: moclip, polarization: y}``: the user's file if its path is set, else ``metasurface``."""
    path = dataset_path("moclip")
    return metasurface(declaration, base) if path is None else published(path, polarization(declaration))


def polarization(declaration: Mapping[str, Any]) -> str:
    """The declared polarization; ``y`` if none is.

    Raises:
        DataError: neither x nor y.
    """
    value = declaration.get("polarization", "y")
    if value not in POLARIZATIONS:
        raise DataError(f"dataset.polarization: {value!r} is not measured{near(value, POLARIZATIONS)}")
    return value


def published(path: Path, polarized: str) -> SpectraSet:
    """The published file. Structures with missing samples are left out, and the description says how many.

    Raises:
        DataError: not an NPZ file, pickled contents, missing or misshapen arrays.
    """
    key = f"spectra_{polarized}"
    check_zip(path, LIMIT, "an NPZ file", ("wvl.npy", f"{key}.npy"))
    try:
        with np.load(path, allow_pickle=False) as archive:
            names = archive.files
            if key not in names:
                raise DataError(f"{path}: no array {key!r}{near(key, names)}")
            response = _real(archive[key])
            wavelength = _real(archive["wvl"]) if "wvl" in names else GRID_NM
    except (ValueError, TypeError, EOFError, OSError, MemoryError, NotImplementedError, struct.error, zipfile.BadZipFile,
            zlib.error) as error:
        if "pickle" in str(error).lower():
            raise DataError(
                f"{path}: holds pickled Python objects, which can run code when opened, so it is not loaded. If you "
                f"trust it, open it once with numpy.load(..., allow_pickle=True) and save wvl, spectra_x and spectra_y "
                f"as plain float arrays with numpy.savez; or get the current release (Figshare 30772553)") from None
        raise DataError(f"{path}: cannot be read as numbers: {error}; get the file again (Figshare 30772553)") from None
    n = wavelength.size
    if not n or response.ndim != 2 or wavelength.ndim != 1 or n not in response.shape:
        raise DataError(f"{path}: {key} has shape {response.shape} and wvl {wavelength.shape}; (N, 29) or (29, N) and "
                        "(29,) are right")
    older = "geometries" in names or "cell_images" in names
    if response.shape[1] != n or (response.shape[0] == n and older):
        response = response.T
    if not 100 <= wavelength.min() <= wavelength.max() <= 30_000:
        raise DataError(f"{path}: wvl runs from {wavelength.min():g} to {wavelength.max():g}; nm are right (450-730)")
    whole = np.isfinite(response).all(axis=1)
    missing = f" {int((~whole).sum())} structures with missing samples are left out." if not whole.all() else ""
    return SpectraSet(
        name="moclip", kind="measured", licence="CC BY 4.0",
        source="MOCLIP dataset, Figshare 30772553", quantity="transmission",
        spectra=tuple(Spectrum(f"moclip-{i:05d}", wavelength, response[i], "transmission", polarized)
                      for i in np.flatnonzero(whole)),
        description="Measured transmission of fabricated silicon-on-glass metasurfaces." + missing,
    )


def _real(array: np.ndarray) -> np.ndarray:
    """The array in float64. Raises ValueError where that would change what it says."""
    if array.dtype.kind not in "fiu":
        raise ValueError(f"an array of {array.dtype} where real numbers are due")
    return array.astype(np.float64)


def metasurface(declaration: Mapping[str, Any], base: Path) -> SpectraSet:
    """``{name: metasurface, polarization: y}``: the embedded simulated set (see ``scripts/make_metasurface.py``)."""
    polarized = polarization(declaration)
    with (as_file(files("harness.datasets") / "data" / "metasurface.npz") as path,
          np.load(path, allow_pickle=False) as archive):
        about = json.loads(str(archive["about"]))
        wavelength = archive["wavelength_nm"].astype(np.float64)
        response = archive["transmission"][:, about["polarizations"].index(polarized)] / round(1 / about["unit"])
    return SpectraSet(
        name="metasurface", kind="simulated", licence="Apache-2.0",
        source=f"this package, scripts/make_metasurface.py; {about['materials']}", quantity="transmission",
        spectra=tuple(Spectrum(f"metasurface-{i:05d}", wavelength, row, "transmission", polarized)
                      for i, row in enumerate(response)),
        description=f"Simulated silicon pillars on glass: {about['method']}; {about['smoothing']}. "
                    "Stands in for MOCLIP.",
    )
