"""Which band holds the minimum, and which the maximum, whatever shows the spectrum?"""

import pytest


@pytest.mark.probes(suite="invariance", tasks=["extreme"])
def test_extreme(probe):
    probe.ask()
