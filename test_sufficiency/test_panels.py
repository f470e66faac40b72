"""Gauges out of limits: is the claim of sufficiency right where the truth about it is known?"""

import pytest


@pytest.mark.probes(suite="sufficiency", tasks=["panels"])
def test_panels(probe):
    probe.ask()
