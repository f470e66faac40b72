from __future__ import annotations

import ast
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import harness.oracle
from harness.errors import DataError
from harness.oracle.plots import read_plot
from harness.render.plot import render_plot
from harness.spectrum import Spectrum
from harness.tests.render.samples import GOLD_NM, dip, peak, plot_view, wild, without

UNITS = ["nm", "um", "eV", "cm^-1", "THz"]


def errors(spectra: list[Spectrum], view) -> tuple[float, float]:
    """Largest error in wavelength (nm) and in response (share of the shown range) over all samples of all curves."""
    chart = read_plot(render_plot(spectra, "ABC"[: len(spectra)], view))
    assert chart.unit == view.unit
    span = max(s.response.max() for s in spectra) - min(s.response.min() for s in spectra)
    worst_nm = worst = 0.0
    for s, c in zip(spectra, chart.curves, strict=True):
        # a straight stretch needs fewer corners than it has samples
        at = np.interp(s.wavelength_nm, c.nm, c.value)
        worst = max(worst, float(np.abs(at - s.response).max()) / span)
        worst_nm = max(worst_nm, abs(c.nm[0] - s.wavelength_nm[0]), abs(c.nm[-1] - s.wavelength_nm[-1]))
    return worst_nm, worst


@pytest.mark.parametrize("unit", UNITS)
def test_samples_of_one_curve_read_back_to_half_a_percent_of_the_range(unit):
    worst_nm, worst = errors([dip(600)], plot_view(unit))
    assert (worst_nm < 0.5, worst < 0.005) == (True, True)


@pytest.mark.parametrize("unit", ["nm", "eV"])
def test_random_curves_read_back_to_one_percent_of_the_range(unit):
    rng = np.random.default_rng(11)
    found = [errors([wild(rng)], plot_view(unit)) for _ in range(12)]
    assert (max(f[0] for f in found) < 0.5, max(f[1] for f in found) < 0.01) == (True, True)


@pytest.mark.parametrize("unit", ["nm", "eV"])
@pytest.mark.parametrize("count", [2, 3])
def test_the_extremum_of_crossing_curves_is_found_to_a_sample_and_three_percent(unit, count):
    rng = np.random.default_rng(count)
    for _ in range(8):
        spectra = [
            dip(float(rng.integers(48, 71) * 10), rng.uniform(0.3, 0.7), rng.uniform(12, 40)) for _ in range(count)
        ]
        chart = read_plot(render_plot(spectra, "ABC"[:count], plot_view(unit)))
        for s, c in zip(spectra, chart.curves, strict=True):
            i = s.response.argmin()
            nm, value = c.extremum("minimum")
            assert (abs(nm - s.wavelength_nm[i]) < 10, abs(value - s.response[i]) < 0.03) == (True, True)


@pytest.mark.parametrize("unit", ["nm", "eV"])
def test_broad_peaks_sampled_every_five_nm_read_back(unit):
    worst_nm, worst = errors([peak(530)], plot_view(unit))
    assert (worst_nm < 0.5, worst < 0.005) == (True, True)


@pytest.mark.parametrize("unit", ["nm", "eV"])
def test_noisy_peaks_sampled_every_five_nm_read_back(unit):
    rng = np.random.default_rng(5)
    p = peak(560)
    noisy = Spectrum("noisy", GOLD_NM, p.response + rng.normal(0, 0.01, len(p)), "absorbance")
    assert errors([noisy], plot_view(unit))[1] < 0.02


@pytest.mark.parametrize(
    "style",
    [
        {"markers": "circle"},
        {"markers": "square", "marker_size": 6},
        {"grid": False},
        {"line_width": 1.0},
        {"line_width": 3.0},
        {"dpi": 80},
        {"dpi": 150, "width": 1200, "height": 750},
        {"font_size": 9},
        {"font_size": 14},
        {"colors": ["#cc0000", "#00aacc"]},
        {"grid_color": "#aabbcc"},
        {"x_limits": [430, 760], "y_limits": [-0.2, 1.1]},
    ],
    ids=str,
)
def test_every_declared_style_can_be_read(style):
    worst_nm, worst = errors([dip(560), dip(650, 0.5)], plot_view("eV", **style))
    assert (worst_nm < 1.0, worst < 0.02) == (True, True)


def test_a_descending_axis_reads_the_same():
    worst_nm, worst = errors([dip(600)], plot_view("eV", "descending"))
    assert (worst_nm < 0.5, worst < 0.005) == (True, True)


@pytest.mark.parametrize("unit", UNITS)
def test_a_broken_line_is_a_hole_between_the_last_shown_samples(unit):
    (curve,) = read_plot(render_plot([without(dip(600), 580, 620)], "A", plot_view(unit))).curves
    ((low, high),) = curve.holes()
    assert (abs(low - 570) < 1, abs(high - 630) < 1) == (True, True)


def test_an_unbroken_line_has_no_hole():
    (curve,) = read_plot(render_plot([without(dip(600), 700, 730)], "A", plot_view())).curves
    assert (curve.holes(), round(curve.nm[-1])) == ([], 690)


def test_a_missing_end_shows_in_the_last_sample():
    (curve,) = read_plot(render_plot([without(dip(600), 450, 520)], "A", plot_view("eV"))).curves
    assert abs(curve.nm[0] - 530) < 1


def test_curves_are_named_by_the_legend_not_by_their_order():
    chart = read_plot(render_plot([dip(560), dip(650)], ["C", "A"], plot_view()))
    assert abs(chart.curve("A").extremum("minimum")[0] - 650) < 5


def test_negative_responses_are_read_with_their_sign():
    s = Spectrum("s", GOLD_NM, peak(530).response - 0.5, "absorbance")
    assert errors([s], plot_view())[1] < 0.005


def test_very_small_responses_are_read():
    s = Spectrum("s", GOLD_NM, peak(530).response * 1e-3, "absorbance")
    assert errors([s], plot_view())[1] < 0.005


def test_an_image_saved_again_as_rgb_reads_the_same():
    png = render_plot([dip(600), dip(650)], "AB", plot_view())
    again = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").save(again, "PNG")
    one, two = read_plot(png), read_plot(again.getvalue())
    np.testing.assert_allclose(one.curve("A").value, two.curve("A").value, atol=1e-9)


def test_a_blank_image_is_an_error():
    blank = io.BytesIO()
    Image.new("RGB", (800, 500), "white").save(blank, "PNG")
    with pytest.raises(DataError, match="no frame"):
        read_plot(blank.getvalue())


def test_the_oracle_imports_nothing_that_makes_evidence_or_labels():
    modules = set()
    for path in Path(harness.oracle.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level == 2:
                modules.add(node.module or ",".join(a.name for a in node.names))
    assert modules <= {"errors", "probe"}
