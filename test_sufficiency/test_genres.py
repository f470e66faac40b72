"""Genres of a film: does the model know when the plot or the poster alone does not settle them?"""

import pytest


@pytest.mark.probes(suite="sufficiency", tasks=["genres"])
def test_genres(probe):
    probe.ask()
