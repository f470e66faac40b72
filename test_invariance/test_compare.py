"""Which of two spectra is red- or blue-shifted: does the answer follow the wavelength in every view, order and wording?"""

import pytest


@pytest.mark.probes(suite="invariance", tasks=["compare"])
def test_compare(probe):
    probe.ask()
