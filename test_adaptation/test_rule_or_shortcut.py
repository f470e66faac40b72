"""Have adapters learned to abstain when the evidence is missing, or whenever anything is?"""

import pytest


@pytest.mark.probes(suite="invariance", tasks=["scope"])
def test_rule_or_shortcut(probe):
    probe.ask()
