"""Which requests this process is going to need next: its own part of the session's items, in running order.

Serially that is the rest of ``session.items``; under xdist it is the worker's own queue, read through the registered
``WorkerInteractor`` (spike-proven with xdist 3.8). Where that internal is missing there is no look-ahead, and the run
says so once.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from ..probe import RequestKey

NAME = "isoprobe-lookahead"


class Lookahead:
    """Follows the session; ``upcoming()`` yields the keys after the running item."""

    def __init__(self, config: pytest.Config):
        self.config = config
        self.items: list[pytest.Item] = []
        self.at = 0
        self.index: dict[str, int] = {}
        self.interactor = next((p for p in config.pluginmanager.get_plugins()
                                if type(p).__name__ == "WorkerInteractor"), None)
        self.worker = hasattr(config, "workerinput")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.items = session.items
        if not self.worker:
            self.index = {item.nodeid: i for i, item in enumerate(session.items)}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        if not self.worker:
            self.at = self.index.get(item.nodeid, self.at)

    def upcoming(self) -> Iterator[RequestKey]:
        """Keys of the items that follow here, probes only; a snapshot, safe to take from any thread."""
        for item in self._following():
            spec = getattr(item, "callspec", None)
            key = spec.params.get("probe") if spec is not None else None
            if isinstance(key, RequestKey):
                yield key

    def _following(self) -> Iterator[Any]:
        if not self.worker:
            for i in range(self.at + 1, len(self.items)):
                yield self.items[i]
            return
        if not hasattr(self.interactor, "torun"):
            warnings.warn("this pytest-xdist hides the worker's queue: requests are not sent ahead; "
                          "use -n 0 for full speed", stacklevel=1)
            self.interactor = type("NoQueue", (), {"torun": None})()
        if self.interactor.torun is None:
            return
        with self.interactor.torun.lock() as queue:
            waiting = [self.interactor.nextitem_index, *queue]
        for i in waiting:
            if isinstance(i, int):
                yield self.items[i]


def register(config: pytest.Config) -> Lookahead:
    """The look-ahead of this process, registered once, while items are still being collected."""
    found = config.pluginmanager.get_plugin(NAME)
    if found is None:
        found = Lookahead(config)
        config.pluginmanager.register(found, NAME)
    return found
