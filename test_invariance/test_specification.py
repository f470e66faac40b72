"""Which of three candidates meets a location and a depth requirement?"""

import pytest


@pytest.mark.probes(suite="invariance", tasks=["specification"])
def test_specification(probe):
    probe.ask()
