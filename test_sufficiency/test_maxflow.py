"""Maximum flow: does the model know what it can do with a matrix, and what with a drawing?"""

import pytest


@pytest.mark.probes(suite="sufficiency", tasks=["maxflow"])
def test_maxflow(probe):
    probe.ask()
