"""Even, odd or neither: does the model know that a formula and its plot say the same?"""

import pytest


@pytest.mark.probes(suite="sufficiency", tasks=["parity"])
def test_parity(probe):
    probe.ask()
