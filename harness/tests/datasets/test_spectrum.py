"""A spectrum is checked where it is made, so nothing behind it has to."""

import math

import pytest

from harness.errors import DataError
from harness.spectrum import Spectrum


@pytest.mark.parametrize("wavelengths, response, message", [
    ([400, 500, 600], [0.1, 0.2], r"wavelengths \(3,\) and response \(2,\) must be equal \(n,\)"),
    ([[400, 500, 600]], [[0.1, 0.2, 0.3]], r"wavelengths \(1, 3\) and response"),
    ([400, 500], [0.1, 0.2], "2 samples; at least 3 are needed"),
    ([400, 500, 600], [0.1, math.nan, 0.3], r"sample 1 \(wavelength 500 nm\) is not finite; remove the sample"),
    ([400, math.inf, 600], [0.1, 0.2, 0.3], r"sample 1 \(wavelength inf nm\) is not finite"),
    ([400, 600, 500], [0.1, 0.2, 0.3], "wavelengths must ascend, but 500 nm follows 600 nm"),
    ([400, 400, 500], [0.1, 0.2, 0.3], "wavelengths must ascend, but 400 nm follows 400 nm"),
])
def test_a_spectrum_that_is_none_says_what_is_wrong_with_it(wavelengths, response, message):
    with pytest.raises(DataError, match=f"spectrum 's': {message}"):
        Spectrum("s", wavelengths, response, "transmission")


def test_the_numbers_of_a_spectrum_cannot_be_changed():
    made = Spectrum("s", [400, 500, 600], [0.1, 0.2, 0.3], "transmission")
    with pytest.raises(ValueError, match="read-only"):
        made.response[0] = 1.0
