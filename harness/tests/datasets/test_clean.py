"""The filters of section 3.1."""

from dataclasses import replace

import numpy as np
import pytest

from harness.datasets.clean import CleanRule, clean, prominences
from harness.errors import DataError
from harness.spectrum import Spectrum
from harness.tests.datasets.rules import DIPS, PEAKS

GRID = np.arange(450.0, 731.0, 10.0)


def dip(*dips: tuple[float, float], base: float = 0.9, width: float = 8.0) -> np.ndarray:
    """A flat transmission with triangular dips at (wavelength, value)."""
    values = np.full(len(GRID), base)
    for at, low in dips:
        values = np.minimum(values, low + (base - low) * np.minimum(np.abs(GRID - at) / width / 10, 1))
    return values


def one(response: np.ndarray, rule: CleanRule = DIPS):
    return clean([Spectrum("s", GRID, response, "transmission")], rule)


def removed(response: np.ndarray, rule: CleanRule = DIPS) -> list[str]:
    return [name for name, n in one(response, rule).removed.items() if n]


def test_a_deep_lonely_interior_dip_is_kept_with_its_grid_wavelength():
    result = one(dip((600, 0.2)))
    assert len(result.kept) == 1
    assert result.position_nm.tolist() == [600.0]
    assert set(result.removed.values()) == {0}


@pytest.mark.parametrize("at", [450, 730])
def test_a_minimum_on_the_first_or_last_sample_is_not_interior(at):
    assert removed(dip((at, 0.2))) == ["interior"]


@pytest.mark.parametrize("low, expected", [(0.75, []), (0.76, ["prominence"])])
def test_the_prominence_must_be_at_least_0_15(low, expected):
    assert removed(dip((600, low))) == expected


@pytest.mark.parametrize("rival, expected", [(0.25, []), (0.24, ["rival"])])
def test_the_next_dip_must_be_at_least_0_05_away(rival, expected):
    assert removed(dip((520, 0.2), (660, rival), width=4)) == expected


def test_a_dip_of_less_than_0_05_prominence_is_no_rival():
    values = dip((600, 0.2), width=6)
    values[GRID == 640] = values[GRID == 630] - 0.04
    assert removed(values) == []


@pytest.mark.parametrize("samples, expected", [(2, []), (3, ["flat"])])
def test_an_extremum_shared_by_three_samples_has_no_position(samples, expected):
    values = dip((600, 0.2))
    values[15:15 + samples] = 0.2
    assert removed(values) == expected


@pytest.mark.parametrize("at, expected", [(620, []), (630, []), (610, ["margin"]), (640, ["margin"])])
def test_band_questions_keep_15_nm_from_the_boundaries(at, expected):
    assert removed(dip((at, 0.2)), replace(DIPS, boundaries_nm=(605, 645, 685))) == expected


def test_peaks_are_judged_relative_to_their_height():
    small = 0.02 * (1 - dip((600, 0.2)))
    assert removed(small, replace(PEAKS, range_nm=None)) == []
    two = 1 - dip((520, 0.100), (660, 0.120), width=4)
    assert removed(two, replace(PEAKS, range_nm=None)) == ["rival"]
    assert removed(1 - dip((520, 0.100), (660, 0.130), width=4), replace(PEAKS, range_nm=None)) == []


def test_the_kept_spectra_are_cut_to_the_range():
    result = one(dip((600, 0.2)), replace(DIPS, range_nm=(500, 700)))
    assert (result.kept[0].wavelength_nm[0], result.kept[0].wavelength_nm[-1]) == (500, 700)


def test_prominences_agree_with_scipy():
    find_peaks = pytest.importorskip("scipy.signal").find_peaks
    rows = np.random.default_rng(3).normal(size=(200, 29)).cumsum(axis=1)
    ours = prominences(rows)
    for row, mine in zip(rows, ours, strict=True):
        at, facts = find_peaks(row, prominence=0)
        assert at.tolist() == np.flatnonzero(mine).tolist()
        np.testing.assert_allclose(mine[at], facts["prominences"])


def test_every_removed_spectrum_is_counted_once():
    values = [dip((600, 0.2)), dip((450, 0.2)), dip((600, 0.8)), dip((520, 0.2), (660, 0.22), width=4)]
    result = clean([Spectrum(str(i), GRID, v, "transmission") for i, v in enumerate(values)], DIPS)
    assert [s.id for s in result.kept] == ["0"]
    assert {name: n for name, n in result.removed.items() if n} == {"interior": 1, "prominence": 1, "rival": 1}


@pytest.mark.parametrize("bad, message", [
    ({"extremum": "minimun"}, "clean.extremum: 'minimun' is not an extremum; did you mean 'minimum'?"),
    ({"range_nm": [800, 450]}, "clean.range_nm: [800.0, 450.0] is not a range; give [lowest, highest] in nm"),
    ({"prominence": -1}, "clean.prominence: -1 is negative"),
    ({"prominense": 1}, "clean.prominense: no such rule; did you mean 'prominence'?"),
])
def test_a_senseless_rule_says_what_would_be_right(bad, message):
    with pytest.raises(DataError) as error:
        CleanRule.from_mapping(bad)
    assert message in str(error.value)


def test_a_range_without_samples_is_an_error():
    with pytest.raises(DataError, match=r"2 samples of spectrum 's' \(450-730 nm\) lie in 700-715 nm; at least 3"):
        one(dip((600, 0.2)), replace(DIPS, range_nm=(700, 715)))


def test_different_grids_are_an_error():
    a, b = Spectrum("a", GRID, GRID, "t"), Spectrum("b", GRID + 1, GRID, "t")
    with pytest.raises(DataError, match="spectrum 'b' has other wavelengths than 'a'"):
        clean([a, b], DIPS)


def test_no_spectra_are_an_error():
    with pytest.raises(DataError, match="no spectra to choose from"):
        clean([], DIPS)
