from __future__ import annotations

import json

import numpy as np
import pytest

from harness.errors import DataError
from harness.render.table import render_table
from harness.spectrum import Spectrum
from harness.tests.render.samples import table_view

A = Spectrum("a", [710, 720, 730], [0.367, 0.4507, 0.494], "transmission")
B = Spectrum("b", [710, 720, 730], [0.0951, 0.1549, 0.2960], "transmission")


def test_two_spectra_in_ev_look_as_in_appendix_b():
    expected = "photon_energy_eV,transmission_A,transmission_B\n1.698,0.494,0.296\n1.722,0.451,0.155\n1.746,0.367,0.095"
    assert render_table([A, B], ["A", "B"], table_view("eV")) == expected


def test_one_spectrum_in_nm_looks_as_in_appendix_b():
    s = Spectrum("s", [450, 460, 470], [0.41, 0.463, 0.495], "transmission")
    assert render_table([s], ["A"], table_view()) == "wavelength_nm,transmission\n450,0.410\n460,0.463\n470,0.495"


@pytest.mark.parametrize(
    "unit,header,first",
    [
        ("nm", "wavelength_nm", "710"),
        ("um", "wavelength_um", "0.710"),
        ("eV", "photon_energy_eV", "1.698"),
        ("cm^-1", "wavenumber_cm-1", "13699"),
        ("THz", "frequency_THz", "410.7"),
    ],
)
def test_every_unit_has_its_header_and_default_digits(unit, header, first):
    lines = render_table([A], ["A"], table_view(unit)).splitlines()
    assert (lines[0], lines[1].split(",")[0]) == (f"{header},transmission", first)


def test_scientific_notation_is_a_declared_format():
    rows = render_table([A], ["A"], table_view(axis_format=".2e")).splitlines()
    assert rows[1:] == ["7.10e+02,0.367", "7.20e+02,0.451", "7.30e+02,0.494"]


def test_descending_order_reverses_the_rows_and_nothing_else():
    up, down = (render_table([A], ["A"], table_view("eV", order=o)).splitlines() for o in ("ascending", "descending"))
    assert down == [up[0], *reversed(up[1:])]


def test_a_removed_sample_is_an_absent_row():
    cut = Spectrum("c", [450, 460, 490, 500], [0.1, 0.2, 0.3, 0.4], "transmission")
    assert render_table([cut], ["A"], table_view()).splitlines()[1:] == [
        "450,0.100",
        "460,0.200",
        "490,0.300",
        "500,0.400",
    ]


def test_a_wavelength_that_only_one_spectrum_has_leaves_an_empty_cell():
    other = Spectrum("o", [720, 730, 740], [0.1, 0.2, 0.3], "transmission")
    rows = render_table([A, other], ["A", "B"], table_view()).splitlines()[1:]
    assert rows == ["710,0.367,", "720,0.451,0.100", "730,0.494,0.200", "740,,0.300"]


def test_markdown_has_a_rule_and_title_headers_name_units_in_brackets():
    lines = render_table([A, B], ["A", "B"], table_view("eV", "markdown", header="title")).splitlines()
    assert lines[:3] == [
        "| Photon energy (eV) | Transmission A | Transmission B |",
        "| ---: | ---: | ---: |",
        "| 1.698 | 0.494 | 0.296 |",
    ]


def test_json_keeps_the_declared_digits():
    text = render_table([A], ["A"], table_view("um", "json"))
    assert "[0.730, 0.494]" in text
    assert json.loads(text)["columns"] == ["wavelength_um", "transmission"]


def test_json_shows_a_missing_cell_as_null():
    other = Spectrum("o", [720, 730, 740], [0.1, 0.2, 0.3], "transmission")
    assert json.loads(render_table([A, other], ["A", "B"], table_view("nm", "json")))["rows"][0] == [710, 0.367, None]


def test_small_negative_numbers_have_no_minus_before_zero():
    s = Spectrum("s", [450, 455, 460], [-0.0001, 0.0, -0.25], "absorbance")
    assert render_table([s], ["A"], table_view()).splitlines()[1:] == ["450,0.000", "455,0.000", "460,-0.250"]


def test_a_format_that_merges_two_wavelengths_is_an_error_with_a_remedy():
    s = Spectrum("s", [450, 450.4, 451], [0.1, 0.2, 0.3], "transmission")
    with pytest.raises(
        DataError, match=r"view table_x: axis_format 'd' shows 450 nm and 450.4 nm both as 450 nm; '.1f'"
    ):
        render_table([s], ["A"], table_view())


def test_an_unknown_setting_names_the_nearest_one():
    with pytest.raises(DataError, match="no setting 'axis_fromat'; did you mean 'axis_format'"):
        render_table([A], ["A"], table_view(axis_fromat="d"))


def test_a_word_that_is_no_format_is_an_error():
    with pytest.raises(DataError, match="'three' is not a number format"):
        render_table([A], ["A"], table_view(response_format="three"))


def test_an_unknown_unit_names_the_nearest_one():
    with pytest.raises(DataError, match="view table_x: 'evv' is not a unit of the axis; did you mean 'eV'"):
        render_table([A], ["A"], table_view("evv"))


def test_two_quantities_do_not_share_a_table():
    other = Spectrum("o", [710, 720, 730], [0.1, 0.2, 0.3], "absorbance")
    with pytest.raises(DataError, match="absorbance and transmission cannot share one axis"):
        render_table([A, other], ["A", "B"], table_view())


def test_numbers_are_python_s_not_numpy_s():
    s = Spectrum("s", np.array([450.0, 455.0, 460.0]), np.float64([1 / 3, 1e-7, 1e5]), "transmission")
    rows = render_table([s], ["A"], table_view(response_format=".4g")).splitlines()[1:]
    assert rows == ["450,0.3333", "455,1e-07", "460,1e+05"]
