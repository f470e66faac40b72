"""Do adapters answer the trained kinds of question on structures and views that they have not seen?"""

import pytest


@pytest.mark.probes(suite="invariance", tasks=["extreme", "compare", "sufficiency"])
def test_learned_tasks(probe):
    probe.ask()
