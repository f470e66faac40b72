"""Does what an adapter learned carry over to tasks that are absent from its training?"""

import pytest


@pytest.mark.probes(suite="invariance", tasks=["specification", "threshold"])
def test_transfer(probe):
    probe.ask()
