"""On which side of a wavelength lies the peak, asked in wavelength and in photon energy?"""

import pytest


@pytest.mark.probes(suite="invariance", tasks=["threshold"])
def test_threshold(probe):
    probe.ask()
