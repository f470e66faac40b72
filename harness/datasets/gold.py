"""UV-Vis absorbance of gold nanoparticle syntheses: the user's own table, or the simulated stand-in.

The published set (Zenodo 6588769: 448 syntheses, 300-995 nm in 5 nm steps) or any other table is read as
``spectra_table`` reads it; unless declared otherwise each spectrum's minimum is subtracted, which changes nothing in
spectra that are background-subtracted already.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np

from ..settings import dataset_path
from ..spectrum import SpectraSet, Spectrum
from . import spectra_table


def load(declaration: Mapping[str, Any], base: Path) -> SpectraSet:
    """``{name: gold}``: the user's table if its path is set (with its reading options), else the stand-in."""
    path = dataset_path("gold")
    if path is None:
        return simulated(declaration, base)
    options = {"kind": "measured", "quantity": "absorbance", "blank": "minimum",
               "licence": "see its publication (the paper's set: Zenodo 6588769)", "source": path.name, **declaration}
    return spectra_table.load({**options, "table": str(path), "name": "gold"}, base)


def simulated(declaration: Mapping[str, Any], base: Path) -> SpectraSet:
    """``{name: gold-simulated}``: the embedded simulated set (see ``scripts/make_gold.py``)."""
    with (as_file(files("harness.datasets") / "data" / "gold.npz") as path,
          np.load(path, allow_pickle=False) as archive):
        about = json.loads(str(archive["about"]))
        wavelength = archive["wavelength_nm"].astype(np.float64)
        response = archive["absorbance"] / round(1 / about["unit"])
    return SpectraSet(
        name="gold-simulated", kind="simulated", licence="Apache-2.0",
        source=f"this package, scripts/make_gold.py; {about['materials']}", quantity="absorbance",
        spectra=tuple(Spectrum(f"gold-simulated-{i:03d}", wavelength, row, "absorbance")
                      for i, row in enumerate(response)),
        description=f"Simulated gold nanoparticle syntheses: {about['method']}. Stands in for measured syntheses.",
    )
