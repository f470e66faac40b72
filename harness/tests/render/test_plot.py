from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from harness.errors import DataError
from harness.render.plot import nice_ticks, render_plot
from harness.spectrum import Spectrum
from harness.tests.render.samples import dip, peak, plot_view, without

BLUE = (0x00, 0x77, 0xBB)


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


def columns_with(png: bytes, color: tuple[int, int, int]) -> np.ndarray:
    """(width,) whether the colour occurs in each column."""
    return (pixels(png) == color).all(axis=2).any(axis=0)


def gaps(columns: np.ndarray) -> list[int]:
    """Lengths of the stretches without the colour between its first and last column."""
    seen = np.flatnonzero(columns)
    return [int(d) - 1 for d in np.diff(seen) if d > 1]


def test_a_plot_has_800_by_500_pixels():
    assert pixels(render_plot([dip(600)], ["A"], plot_view())).shape == (500, 800, 3)


def test_size_is_a_setting():
    assert pixels(render_plot([dip(600)], ["A"], plot_view(width=640, height=420))).shape == (420, 640, 3)


def test_one_input_gives_the_same_bytes_twice_and_between_other_plots():
    first = render_plot([dip(600), dip(650)], ["A", "B"], plot_view("eV"))
    render_plot([peak(530)], ["A"], plot_view("nm", dpi=120))
    assert render_plot([dip(600), dip(650)], ["A", "B"], plot_view("eV")) == first


SCRIPT = """
import hashlib, sys
from harness.render.plot import render_plot
from harness.tests.render.samples import dip, plot_view
sys.stdout.write(hashlib.sha256(render_plot([dip(600), dip(650)], ["A", "B"], plot_view("eV"))).hexdigest())
"""


def test_another_process_with_other_hashes_and_a_matplotlibrc_gives_the_same_bytes(tmp_path):
    (tmp_path / "matplotlibrc").write_text(
        "font.family: serif\nlines.antialiased: False\ntext.hinting: none\n"
        "path.simplify_threshold: 1.0\nagg.path.chunksize: 5\nsavefig.dpi: 50\n"
    )
    env = {**os.environ, "PYTHONHASHSEED": "7", "MPLCONFIGDIR": str(tmp_path), "MATPLOTLIBRC": str(tmp_path)}
    other = subprocess.run([sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True).stdout
    here = render_plot([dip(600), dip(650)], ["A", "B"], plot_view("eV"))
    assert other == hashlib.sha256(here).hexdigest()


def test_a_png_holds_no_metadata():
    image = Image.open(io.BytesIO(render_plot([dip(600)], ["A"], plot_view())))
    assert image.info == {}


def test_plots_are_small():
    sizes = [len(render_plot([dip(600)], ["A"], plot_view(u))) for u in ("nm", "eV")]
    assert max(sizes) < 15_000


def test_a_whole_spectrum_is_one_unbroken_line():
    assert gaps(columns_with(render_plot([dip(600)], ["A"], plot_view()), BLUE)) == []


@pytest.mark.parametrize("unit", ["nm", "um", "eV", "cm^-1", "THz"])
def test_a_middle_deletion_breaks_the_line_once_in_every_unit(unit):
    found = gaps(columns_with(render_plot([without(dip(600), 580, 620)], ["A"], plot_view(unit)), BLUE))
    assert len([g for g in found if g > 20]) == 1


def test_an_end_deletion_does_not_break_the_line():
    assert gaps(columns_with(render_plot([without(dip(600), 690, 730)], ["A"], plot_view()), BLUE)) == []


def test_a_lone_sample_between_two_deletions_is_a_dot():
    s = without(without(dip(600), 560, 590), 610, 640)
    seen = columns_with(render_plot([s], ["A"], plot_view()), BLUE)
    assert len([g for g in gaps(seen) if g > 20]) == 2


def test_limits_follow_the_shown_data_so_an_end_deletion_leaves_no_blank():
    whole, cut = (
        np.flatnonzero(columns_with(render_plot([s], ["A"], plot_view()), BLUE))
        for s in (dip(600), without(dip(600), 690, 730))
    )
    assert abs(int(cut[-1]) - int(whole[-1])) <= 1


def test_declared_limits_leave_the_blank():
    columns = np.flatnonzero(
        columns_with(render_plot([without(dip(600), 690, 730)], ["A"], plot_view("eV", x_limits=[440, 740])), BLUE)
    )
    assert columns[0] > 120


def test_a_descending_axis_mirrors_the_curve():
    up, down = (
        columns_with(render_plot([without(dip(600), 690, 700)], ["A"], plot_view("nm", o)), BLUE)
        for o in ("ascending", "descending")
    )
    assert gaps(down) == list(reversed(gaps(up)))


def test_several_spectra_have_a_legend_above_the_axes_and_one_has_none():
    one = pixels(render_plot([dip(600)], ["A"], plot_view()))[:34]
    two = pixels(render_plot([dip(600), dip(650)], ["A", "B"], plot_view()))[:34]
    assert ((one < 255).any(), (two == BLUE).all(axis=2).any()) == (False, True)


def test_the_declared_colours_are_drawn():
    png = render_plot([dip(600)], ["A"], plot_view(colors=["#aa0044"]))
    assert columns_with(png, (0xAA, 0x00, 0x44)).sum() > 500


def test_markers_and_grid_change_the_picture():
    pngs = {
        render_plot([dip(600)], ["A"], plot_view(**s))
        for s in ({}, {"markers": "circle"}, {"markers": "square"}, {"grid": False})
    }
    assert len(pngs) == 4


def test_a_constant_spectrum_can_be_drawn():
    flat = Spectrum("flat", [450, 460, 470, 480], [0.5] * 4, "transmission")
    assert gaps(columns_with(render_plot([flat], ["A"], plot_view()), BLUE)) == []


def test_an_unknown_marker_names_the_valid_ones():
    with pytest.raises(DataError, match=r"style.markers: 'circles' is unknown; did you mean 'circle'"):
        render_plot([dip(600)], ["A"], plot_view(markers="circles"))


@pytest.mark.parametrize(
    "low,high,labels",
    [
        (436.0, 744.0, ["450", "500", "550", "600", "650", "700"]),
        (1.645, 2.808, ["1.8", "2.0", "2.2", "2.4", "2.6", "2.8"]),
        (-0.13, 0.31, ["−0.1", "0.0", "0.1", "0.2", "0.3"]),
        (0.11, 0.62, ["0.2", "0.3", "0.4", "0.5", "0.6"]),
        (0.436, 0.744, ["0.45", "0.50", "0.55", "0.60", "0.65", "0.70"]),
        (0.0, 0.9e-3, ["0.0000", "0.0002", "0.0004", "0.0006", "0.0008"]),
    ],
)
def test_ticks_are_round_numbers_with_no_more_digits_than_they_need(low, high, labels):
    assert nice_ticks(low, high, 7)[1] == labels
