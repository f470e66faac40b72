"""Gold syntheses, measured and simulated, and the measured filter curves."""

import sys
import time
from dataclasses import replace
from importlib import util
from pathlib import Path

import numpy as np
import pytest

from harness import datasets
from harness.datasets import filters, gold
from harness.datasets.clean import clean
from harness.errors import DataError
from harness.tests.datasets.rules import PEAKS

REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "gold"
needs_speclite = pytest.mark.skipif(util.find_spec("speclite") is None, reason="speclite is not installed")
needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="the measured spectra (../shared/data/gold) are not here")


def sides(result, threshold: float) -> tuple[int, int]:
    """Peaks below and above a threshold with 10 nm and 3 % margin (section 3.1)."""
    below = above = 0
    for spectrum, peak in zip(result.kept, result.position_nm, strict=True):
        other = (spectrum.wavelength_nm > threshold) == (peak < threshold)
        if abs(peak - threshold) >= 10 and spectrum.response[other].max() <= 0.97 * spectrum.response.max():
            below, above = below + (peak < threshold), above + (peak > threshold)
    return below, above


@needs_real
def test_the_measured_syntheses_have_the_known_clean_peaks():
    found = datasets.load({"table": "measured_uvvis.csv", "kind": "measured"}, REAL)
    assert (len(found.spectra), len(found.spectra[0])) == (293, 101)
    assert min(s.response.min() for s in found.spectra) == pytest.approx(0.036, abs=0.002)
    result = clean(found.spectra, PEAKS)
    peaks = result.position_nm
    assert len(result.kept) == 216
    assert ((peaks >= 525) & (peaks <= 530)).sum() == 18
    assert ((peaks >= 670) & (peaks <= 780)).sum() == 198


@needs_real
def test_gold_reads_the_users_table_and_subtracts_its_background(monkeypatch):
    monkeypatch.setenv("ISOPROBE_GOLD", str(REAL / "measured_uvvis.csv"))
    found = datasets.load({"name": "gold"}, Path())
    assert (found.name, found.kind, found.quantity) == ("gold", "measured", "absorbance")
    assert {float(s.response.min()) for s in found.spectra} == {0.0}


@needs_real
def test_a_raw_plate_export_is_read_as_it_is():
    pytest.importorskip("openpyxl")
    found = datasets.load({"table": "plates/plate-1.xlsx"}, REAL)
    assert [s.id for s in found.spectra] == ["F9", "F10", "F11", "F12"]
    assert found.spectra[0].wavelength_nm[[0, -1]].tolist() == [400, 900]
    assert found.spectra[1].response[:3].tolist() == [0.477, 0.471, 0.467]


def test_the_simulated_syntheses_have_the_shape_of_the_published_ones():
    found = gold.simulated({}, Path())
    assert (found.kind, found.quantity, len(found.spectra)) == ("simulated", "absorbance", 448)
    assert found.spectra[0].wavelength_nm.tolist() == list(range(300, 996, 5))
    assert {float(s.response.min()) for s in found.spectra} == {0.0}


def test_the_simulated_syntheses_leave_clean_peaks_on_both_sides_of_every_threshold():
    result = clean(gold.simulated({}, Path()).spectra, PEAKS)
    assert 150 <= len(result.kept) <= 260
    for threshold in (522.5, 532.5, 542.5, 552.5, 562.5):
        assert min(sides(result, threshold)) >= 40, threshold


@needs_speclite
def test_filter_curves_are_measured_and_enough():
    found = filters.load({}, Path())
    assert (found.kind, found.licence) == ("measured", "BSD-3-Clause")
    assert found.spectra[0].wavelength_nm.tolist() == list(range(350, 1001, 10))
    assert len(found.spectra) >= 60
    assert len(clean(found.spectra, replace(PEAKS, range_nm=None)).kept) >= 45


@needs_speclite
def test_no_two_filter_curves_are_near_duplicates():
    shapes = np.stack([s.response / s.response.max() for s in filters.load({}, Path()).spectra])
    furthest = np.abs(shapes[:, None] - shapes).max(axis=2)
    np.fill_diagonal(furthest, 1)
    assert furthest.min() > filters.ALIKE


@needs_speclite
def test_filter_curves_load_fast_and_without_astropy():
    before = set(sys.modules)
    start = time.process_time()
    filters.load({}, Path())
    assert time.process_time() - start < 1.0  # 0.15 s on an idle core
    assert not any(name.startswith("astropy") for name in set(sys.modules) - before)


def test_averaging_keeps_the_area_of_a_curve():
    wavelength = np.array([500.0, 512.3, 530.0, 561.0])
    response = np.array([0.0, 0.8, 0.5, 0.0])
    area = ((response[1:] + response[:-1]) / 2 * np.diff(wavelength)).sum()
    assert filters.average(wavelength, response).sum() * 10 == pytest.approx(area)


def test_a_missing_speclite_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(filters.util, "find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"speclite is not installed; pip install 'isoprobe\[data\]'"):
        filters.load({}, Path())


def test_a_changed_file_of_speclite_is_an_error(tmp_path):
    (tmp_path / "a.ecsv").write_text("# - {name: wavelength, unit: furlong}\nwavelength response\n1 2\n3 4\n5 6\n")
    with pytest.raises(DataError, match="not a table of wavelength"):
        filters.read(tmp_path / "a.ecsv")
