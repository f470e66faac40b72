"""Does the model say that a spectrum without its extremum does not suffice?"""

import pytest


@pytest.mark.probes(suite="invariance", tasks=["sufficiency"])
def test_sufficiency(probe):
    probe.ask()
