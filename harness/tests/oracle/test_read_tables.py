from __future__ import annotations

import numpy as np
import pytest

from harness.errors import DataError
from harness.oracle.tables import read_table
from harness.render.table import render_table
from harness.tests.render.samples import dip, table_view, without


@pytest.mark.parametrize("kind", ["csv", "markdown", "json"])
@pytest.mark.parametrize("unit", ["nm", "um", "eV", "cm^-1", "THz"])
@pytest.mark.parametrize("header", ["snake", "title"])
def test_every_kind_unit_and_header_reads_back(kind, unit, header):
    a, b = dip(600), dip(650)
    text = (
        f"A sentence, with a comma.\n\nAnother.\n\n{render_table([a, b], 'AB', table_view(unit, kind, header=header))}"
    )
    chart = read_table(text)
    assert (chart.unit, [c.name for c in chart.curves]) == (unit, ["A", "B"])
    np.testing.assert_allclose(chart.curve("B").nm, b.wavelength_nm, atol=0.5)
    np.testing.assert_allclose(chart.curve("B").value, b.response, atol=5.1e-4)


def test_a_single_spectrum_has_no_name():
    assert [c.name for c in read_table(render_table([dip(600)], "A", table_view())).curves] == [""]


def test_descending_rows_read_the_same():
    up, down = (
        read_table(render_table([dip(600)], "A", table_view("eV", order=o))) for o in ("ascending", "descending")
    )
    np.testing.assert_array_equal(up.curves[0].nm, down.curves[0].nm)


def test_removed_rows_are_a_hole():
    text = render_table([without(dip(600), 580, 620)], "A", table_view("eV"))
    ((low, high),) = read_table(text).curves[0].holes()
    assert (round(low), round(high)) == (570, 630)


def test_empty_cells_belong_to_no_curve():
    text = "wavelength_nm,transmission_A,transmission_B\n450,0.1,\n460,0.2,0.5\n470,0.3,0.6\n480,0.4,0.7"
    assert [len(c.nm) for c in read_table(text).curves] == [4, 3]


def test_text_without_a_table_is_an_error():
    with pytest.raises(DataError, match="holds no table"):
        read_table("The table lists a transmission spectrum.")


def test_a_word_in_a_cell_is_an_error():
    with pytest.raises(DataError, match="'n/a' of the table is not a number"):
        read_table("wavelength_nm,transmission\n450,n/a\n460,0.1")
