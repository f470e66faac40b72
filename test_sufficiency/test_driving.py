"""Three of six cameras: does the model know whether the decisive view is among them?"""

import pytest


@pytest.mark.probes(suite="sufficiency", tasks=["driving"])
def test_driving(probe):
    probe.ask()
