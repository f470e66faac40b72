"""What keeps tens of thousands of items cheap: fewer walks of the cyclic collector, shared source locations, rows let go.

Registered with the first probe that is collected; it changes what an item costs and nothing that it does.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from ..collector import relax
from .status import BRIEF, PROPERTY

NAME = "isoprobe-economy"


class Economy:
    def __init__(self) -> None:
        self.before = gc.get_threshold()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        share_locations(session.items)
        relax()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """The row of an item is in its reports by then, and in the run's folder."""
        yield
        item.user_properties[:] = [p for p in item.user_properties if p[0] not in (PROPERTY, BRIEF)]

    def pytest_unconfigure(self) -> None:
        gc.set_threshold(*self.before)  # what is frozen stays so: pytest's own last collections would walk it five times


def share_locations(items: list[pytest.Item]) -> None:
    """Gives the items of one test function their place in the source, which pytest would look up for each anew."""
    first: dict[Any, tuple[str, int | None, str]] = {}
    for item in items:
        if "probe" not in getattr(item, "fixturenames", ()):
            continue
        function = (item.parent, getattr(item, "originalname", item.name))
        known = first.get(function)
        if known is None:
            path, line, domain = item.location
            first[function] = path, line, domain.removesuffix(item.name)
        else:
            path, line, prefix = known
            item.__dict__["location"] = path, line, prefix + item.name  # a cached property of pytest's


def register(config: pytest.Config) -> None:
    """Once in each process that collects probes."""
    if not config.pluginmanager.has_plugin(NAME):
        config.pluginmanager.register(Economy(), NAME)
