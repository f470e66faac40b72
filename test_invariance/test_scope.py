"""Is abstention tied to the evidence that the question needs, rather than to any cut?"""

import pytest


@pytest.mark.probes(suite="invariance", tasks=["scope"])
def test_scope(probe):
    probe.ask()
