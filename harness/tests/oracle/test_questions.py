from __future__ import annotations

import pytest

from harness.errors import DataError
from harness.oracle import question as q
from harness.probe import Option


def test_a_scope_question_states_its_interval():
    asked = q.understand(
        "Considering only the range 450-685 nm, at what wavelength is the transmission lowest? "
        "Choose the range that contains it."
    )
    assert (asked.shape, asked.extremum, asked.span) == ("extreme", "minimum", (450.0, 685.0))


@pytest.mark.parametrize(
    "text",
    [
        "450-685 nm",
        "0.450-0.685 um",
        "0.450-0.685 µm",
        "4.50e+02-6.85e+02 nm",
        "1.810-2.755 eV",
        "14599-22222 cm^-1",
        "437.7-666.2 THz",
    ],
)
def test_a_range_is_understood_in_every_unit(text):
    low, high = q.band(Option("k", text))
    assert (abs(low - 450) < 0.5, abs(high - 685) < 0.5) == (True, True)


@pytest.mark.parametrize(
    "question,direction",
    [
        (
            "Which spectrum has its deepest transmission dip at the longer wavelength, i.e. which is red-shifted?",
            "longer",
        ),
        (
            "Which spectrum has its deepest transmission dip at the shorter wavelength, i.e. which is blue-shifted?",
            "shorter",
        ),
        ("Which spectrum has its deepest transmission dip at the lower photon energy?", "longer"),
        ("Which spectrum has its absorbance maximum at the higher photon energy?", "shorter"),
        ("Which spectrum has its absorbance maximum at the lower wavenumber?", "longer"),
    ],
)
def test_a_comparison_is_turned_into_a_direction_of_wavelength(question, direction):
    asked = q.understand(question)
    assert (asked.shape, asked.direction) == ("compare", direction)


def test_a_threshold_question_with_a_range_keeps_both_apart():
    asked = q.understand(
        "Considering the full range 450-800 nm, is the absorbance maximum at a shorter or at a longer "
        "wavelength than 542.5 nm? If not, choose 'cannot be determined'."
    )
    assert (asked.shape, asked.extremum, asked.span, asked.threshold) == ("threshold", "maximum", (450.0, 800.0), 542.5)


def test_a_threshold_can_be_named_by_its_energy():
    asked = q.understand(
        "Is the absorbance maximum at a shorter or at a longer wavelength than the wavelength that "
        "corresponds to 2.285 eV?"
    )
    assert (asked.shape, round(asked.threshold, 1)) == ("threshold", 542.6)


def test_a_specification_has_a_window_and_a_bound():
    asked = q.understand(
        "A filter is needed whose deepest transmission dip lies within 605-665 nm and falls below a "
        "falls below a transmission of 0.30. Which spectrum meets both requirements?"
    )
    assert (asked.shape, asked.window, asked.bound, asked.below) == ("specification", (605.0, 665.0), 0.3, True)


@pytest.mark.parametrize("label,side", [("shorter wavelength", "shorter"), ("lower photon energy", "longer")])
def test_a_side_is_a_side_on_the_wavelength_axis(label, side):
    assert q.side(Option("k", label)) == side


def test_a_letter_and_a_described_letter_name_a_spectrum():
    assert [q.spectrum(Option("k", "B")), q.spectrum(Option("k", "1", "Spectrum B"))] == ["B", "B"]


def test_an_unknown_wording_is_an_error_that_quotes_it():
    with pytest.raises(DataError, match="no known kind of question in 'How are you"):
        q.understand("How are you?")
