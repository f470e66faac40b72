"""End to end: requests put together by hand in the wording of appendix B, answered from table and pixels."""

from __future__ import annotations

import numpy as np
import pytest

from harness.errors import DataError
from harness.oracle.answer import answer
from harness.probe import ABSTAIN, Option, Part, Request, RequestKey, Truth
from harness.render.plot import render_plot
from harness.render.table import render_table
from harness.spectrum import AXIS_UNITS, Spectrum
from harness.tests.render.samples import dip, peak, plot_view, table_view, without

VIEWS = {
    "table_nm": table_view(),
    "table_um": table_view("um"),
    "table_sci": table_view(axis_format=".2e"),
    "table_ev": table_view("eV"),
    "table_ev_desc": table_view("eV", order="descending"),
    "plot_nm": plot_view(),
    "plot_ev": plot_view("eV"),
}
UNDETERMINED = Option(ABSTAIN, "cannot be determined", "The data provided are not enough to answer.")
CHOOSE = " Choose the range that contains it."
OR_ABSTAIN = CHOOSE + " If the data provided are not enough to determine this, choose 'cannot be determined'."
LETTERS = tuple(Option(k, k, f"Spectrum {k}") for k in "ABC")
BANDS = ((450, 605), (605, 645), (645, 685), (685, 730))


@pytest.fixture(params=VIEWS)
def view(request):
    return VIEWS[request.param]


def span(low: float, high: float, unit: str) -> str:
    """A range as questions show it: smaller number first."""
    ends = sorted(float(AXIS_UNITS[unit].from_nm(x)) for x in (low, high))
    digits = {"nm": "g", "um": ".4f", "eV": ".3f"}[unit]
    return f"{ends[0]:{digits}}-{ends[1]:{digits}} {unit}"


def lowest_in(low: float, high: float, view) -> str:
    within = span(low, high, view.unit)
    return f"Considering only the range {within}, at what wavelength is the transmission lowest?{OR_ABSTAIN}"


def ask(spectra: list[Spectrum], view, question: str, options: tuple[Option, ...]) -> str:
    names = "ABC"[: len(spectra)]
    if view.has_image:
        parts = (Part(image=render_plot(spectra, names, view), media_type="image/png"), Part("The plot shows spectra."))
    else:
        parts = (
            Part(
                f"Measured optical transmission, e.g. of glass.\n\nThe table.\n\n{render_table(spectra, names, view)}"
            ),
        )
    key = RequestKey("s", "t", "i", "v", view.name, "plain", 0, "oracle")
    return answer(Request(key, parts, question, options, "decision", "", truth=Truth("not to be looked at")))


def bands(unit: str) -> tuple[Option, ...]:
    return tuple(Option(f"{a}-{b}", span(a, b, unit)) for a, b in BANDS)


@pytest.mark.parametrize("at,key", [(590, "450-605"), (620, "605-645"), (660, "645-685"), (710, "685-730")])
def test_the_band_of_the_minimum(view, at, key):
    question = "At what wavelength is the transmission lowest? Choose the range that contains it."
    assert ask([dip(at)], view, question, bands(view.unit)) == key


def test_the_band_of_the_maximum(view):
    s = dip(540, 0.4)
    bump = Spectrum(
        "s", s.wavelength_nm, s.response + 0.1 * np.exp(-(((s.wavelength_nm - 660) / 20) ** 2)), "transmission"
    )
    question = "At what wavelength is the transmission highest? Choose the range that contains it."
    assert ask([bump], view, question, bands(view.unit)) == "645-685"


@pytest.mark.parametrize("direction,key", [("longer", "B"), ("shorter", "A")])
def test_the_red_and_the_blue_shifted_of_two(view, direction, key):
    question = (
        f"Which spectrum has its deepest transmission dip at the {direction} wavelength, i.e. which one is shifted?"
    )
    assert ask([dip(570), dip(610, 0.4)], view, question, LETTERS[:2]) == key


@pytest.mark.parametrize("words,key", [("lower photon energy", "A"), ("higher photon energy", "B")])
def test_energy_wording_on_broad_peaks(view, words, key):
    question = f"Which spectrum has its absorbance maximum at the {words}?"
    assert ask([peak(555), peak(530, 0.8)], view, question, LETTERS[:2]) == key


@pytest.mark.parametrize("rotation", range(3))
def test_the_specification_is_met_by_one_of_three(view, rotation):
    right, misplaced, shallow = dip(635, 0.6), dip(700, 0.7), dip(630, 0.4)
    spectra = [[right, misplaced, shallow][(i - rotation) % 3] for i in range(3)]
    question = (
        f"A filter is needed whose deepest transmission dip lies within {span(605, 665, view.unit)} and "
        "falls below a transmission of 0.30. Which spectrum meets both requirements?"
    )
    assert ask(spectra, view, question, LETTERS) == "ABC"[rotation]


@pytest.mark.parametrize(
    "cut,expected",
    [
        (None, "645-685"),
        ((700, 730), "645-685"),  # outside, up to the end of the queried range
        ((690, 700), "645-685"),  # outside, a hole that begins at its end
        ((640, 730), ABSTAIN),
        ((450, 680), ABSTAIN),
        ((650, 670), ABSTAIN),
        ((660, 660), ABSTAIN),
        ((450, 480), ABSTAIN),
    ],
)
def test_scope_abstains_when_and_only_when_the_queried_range_is_incomplete(view, cut, expected):
    s = dip(660) if cut is None else without(dip(660), *cut)
    question = lowest_in(450, 685, view)
    assert ask([s], view, question, (*bands(view.unit), UNDETERMINED)) == expected


@pytest.mark.parametrize("cut", [(450, 600), (580, 600)])
def test_scope_answers_after_a_cut_below_the_queried_range(view, cut):
    question = lowest_in(605, 730, view)
    assert ask([without(dip(660), *cut)], view, question, (*bands(view.unit), UNDETERMINED)) == "645-685"


@pytest.mark.parametrize(
    "cut,expected", [(None, "shorter"), ((655, 800), "shorter"), ((500, 560), ABSTAIN), ((450, 560), ABSTAIN)]
)
def test_a_threshold_inside_a_queried_range(view, cut, expected):
    s = peak(525) if cut is None else without(peak(525), *cut)
    sides = (Option("shorter", "shorter wavelength"), Option("longer", "longer wavelength"), UNDETERMINED)
    value = f"{float(AXIS_UNITS[view.unit].from_nm(542.5)):.4f} {view.unit}"
    question = (
        f"Considering only the range {span(450, 650, view.unit)}, is the absorbance maximum at a shorter or "
        f"at a longer wavelength than the wavelength that corresponds to {value}?"
    )
    assert ask([s], view, question, sides) == expected


def test_the_range_between_a_deeper_neighbour_and_its_edge_is_judged_by_samples(view):
    """At 685 nm the drawn line is already below the dip inside the range; the samples up to 680 nm are not."""
    s = dip(640, 0.3, 15)
    deep = Spectrum(
        "s", s.wavelength_nm, s.response - 0.75 * np.exp(-(((s.wavelength_nm - 710) / 16) ** 2)), "transmission"
    )
    question = lowest_in(450, 685, view)
    assert ask([deep], view, question, (*bands(view.unit), UNDETERMINED)) == "605-645"


def test_an_answer_that_no_option_offers_is_an_error_that_names_the_request():
    with pytest.raises(
        DataError, match=r"s/t/i/v/table_x/plain/0/oracle: oracle: 0 options fit \(minimum at 710.0 nm\)"
    ):
        ask([dip(710)], VIEWS["table_nm"], "At what wavelength is the transmission lowest?" + CHOOSE, bands("nm")[:3])


def test_two_separate_minima_that_the_digits_make_equal_are_an_error():
    s = dip(560, 0.5)
    twin = Spectrum("s", s.wavelength_nm, np.minimum(s.response, dip(680, 0.4998).response), "transmission")
    question = "At what wavelength is the transmission lowest?" + CHOOSE
    with pytest.raises(DataError, match=r"shows as 0\.3 at 560 nm, 680 nm"):
        ask([twin], VIEWS["table_nm"], question, bands("nm"))


def test_a_plateau_of_neighbours_stands_for_its_middle():
    s = dip(620)
    flat = Spectrum("s", s.wavelength_nm, np.maximum(s.response, 0.4), "transmission")
    assert ask([flat], VIEWS["table_ev"], "At what wavelength is it lowest?" + CHOOSE, bands("eV")) == "605-645"
