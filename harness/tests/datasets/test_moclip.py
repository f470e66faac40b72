"""The published MOCLIP file and its simulated stand-in."""

import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness import datasets
from harness.datasets import archive, moclip
from harness.datasets.clean import clean
from harness.errors import DataError
from harness.tests.datasets.rules import DIPS

WVL = np.arange(450, 731, 10)
X = np.random.default_rng(0).uniform(0, 1, (7, 29))
Y = np.random.default_rng(1).uniform(0, 1, (7, 29))


@pytest.fixture
def current(tmp_path: Path) -> Path:
    path = tmp_path / "MOCLIP_dataset_10k.npz"
    np.savez(path, wvl=WVL, geom=np.zeros((7, 4, 4)), params=np.ones((7, 2)), spectra_x=X, spectra_y=Y)
    return path


@pytest.fixture
def older(tmp_path: Path) -> Path:
    path = tmp_path / "older.npz"
    np.savez(path, wvl=WVL, geometries=np.zeros((7, 4)), cell_images=np.zeros(7), spectra_x=X.T, spectra_y=Y.T)
    return path


@pytest.mark.parametrize("release", ["current", "older"])
@pytest.mark.parametrize("polarization, expected", [("x", X), ("y", Y)])
def test_both_releases_give_the_same_spectra(release, polarization, expected, request):
    found = moclip.published(request.getfixturevalue(release), polarization)
    np.testing.assert_array_equal(np.stack([s.response for s in found.spectra]), expected)
    assert found.spectra[0].wavelength_nm.tolist() == WVL.tolist()
    assert (found.name, found.kind, found.licence) == ("moclip", "measured", "CC BY 4.0")
    assert {s.polarization for s in found.spectra} == {polarization}


def test_as_many_structures_as_samples_are_told_apart_by_the_release(tmp_path):
    square = np.random.default_rng(2).uniform(0, 1, (29, 29))
    np.savez(tmp_path / "new.npz", wvl=WVL, geom=[0], spectra_y=square)
    np.savez(tmp_path / "old.npz", wvl=WVL, geometries=[0], spectra_y=square.T)
    new, old = (moclip.published(tmp_path / name, "y") for name in ("new.npz", "old.npz"))
    assert new.spectra[3].response.tolist() == old.spectra[3].response.tolist() == square[3].tolist()


def test_the_users_file_is_used_when_its_path_is_set(current, monkeypatch):
    monkeypatch.setenv("ISOPROBE_MOCLIP", str(current))
    assert datasets.load({"name": "moclip", "polarization": "y"}, Path()).name == "moclip"
    assert datasets.load({"name": "metasurface", "polarization": "y"}, Path()).name == "metasurface"


def test_structures_with_missing_samples_are_left_out_and_reported(tmp_path):
    holed = Y.copy()
    holed[2, 5] = np.nan
    np.savez(tmp_path / "a.npz", wvl=WVL, spectra_y=holed)
    found = moclip.published(tmp_path / "a.npz", "y")
    assert [s.id for s in found.spectra][:3] == ["moclip-00000", "moclip-00001", "moclip-00003"]
    assert "1 structures with missing samples are left out" in found.description


def test_pickled_contents_are_refused_with_the_way_out(tmp_path):
    np.savez(tmp_path / "a.npz", wvl=WVL, spectra_y=np.array([{"a": 1}], dtype=object))
    with pytest.raises(DataError) as error:
        moclip.published(tmp_path / "a.npz", "y")
    assert "holds pickled Python objects, which can run code" in str(error.value)
    assert "numpy.savez" in str(error.value)


@pytest.mark.parametrize("arrays, message", [
    ({"wvl": WVL, "spectra_x": X}, "no array 'spectra_y'; did you mean 'spectra_x'? valid: wvl, spectra_x"),
    ({"wvl": WVL, "spectra_y": np.zeros((5, 7))}, "spectra_y has shape (5, 7) and wvl (29,)"),
    ({"wvl": WVL / 1000, "spectra_y": Y}, "wvl runs from 0.45 to 0.73; nm are right"),
])
def test_a_file_of_another_shape_says_what_is_right(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(DataError) as error:
        moclip.published(tmp_path / "a.npz", "y")
    assert message in str(error.value)
    assert str(tmp_path / "a.npz") in str(error.value)


def test_a_file_that_is_no_archive_says_so(tmp_path):
    (tmp_path / "a.npz").write_text("<html>not found</html>")
    with pytest.raises(DataError, match=r"not an NPZ file \(no zip archive inside\)"):
        moclip.published(tmp_path / "a.npz", "y")


def test_an_archive_that_unpacks_to_too_much_is_refused_before_it_is_opened(tmp_path):
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("spectra_y.npy", bytes(3 * archive.MIB))
    with pytest.raises(DataError, match="unpacks to 3 MiB; at most 2 MiB are read"):
        archive.check_zip(tmp_path / "bomb.npz", 2 * archive.MIB, "an NPZ file")


def test_an_unknown_polarization_names_the_valid_ones():
    with pytest.raises(DataError, match=r"dataset.polarization: 's' is not measured; valid: x, y"):
        moclip.metasurface({"polarization": "s"}, Path())


@pytest.mark.parametrize("polarization, clear, in_bands", [
    ("y", 900, (300, 60, 100, 60)), ("x", 780, (300, 60, 70, 20)),
])
def test_the_stand_in_leaves_enough_clear_dips_in_every_band(polarization, clear, in_bands):
    found = moclip.metasurface({"polarization": polarization}, Path())
    assert (found.name, found.kind, len(found.spectra)) == ("metasurface", "simulated", 2250)
    assert found.spectra[0].wavelength_nm.tolist() == WVL.tolist()
    values = np.stack([s.response for s in found.spectra])
    assert 0 <= values.min() < values.max() <= 1
    assert len(clean(found.spectra, DIPS).kept) >= clear
    banded = clean(found.spectra, replace(DIPS, boundaries_nm=(605, 645, 685)))
    counts = np.histogram(banded.position_nm, [450, 605, 645, 685, 730])[0]
    assert (counts >= in_bands).all(), counts.tolist()


def test_no_two_structures_of_the_stand_in_are_near_duplicates():
    values = [np.stack([s.response for s in moclip.metasurface({"polarization": p}, Path()).spectra]) for p in "xy"]
    both = np.concatenate(values, axis=1)
    squares = (both**2).sum(axis=1)
    distance = squares[:, None] + squares - 2 * both @ both.T
    np.fill_diagonal(distance, np.inf)
    assert np.sqrt(distance.min() / both.shape[1]) > 0.01


def test_spectra_cannot_be_changed_by_a_task():
    spectrum = moclip.metasurface({}, Path()).spectra[0]
    with pytest.raises(ValueError, match="read-only"):
        spectrum.response[0] = 0
