"""Paired data of your own: a spec in specs/sufficiency/ whose task is called ``own`` runs here, without any Python."""

import pytest


@pytest.mark.probes(suite="sufficiency", tasks=["own"])
def test_own(probe):
    probe.ask()
