"""Asks models: one item at a time for pytest, many at once for the server.

Each process has one :class:`Asker`. Its ``ask(key)`` blocks until that item's reply is there. Items of local backends
(oracle, scripted) are answered in the calling thread; all others go to the background loop of :mod:`harness.sender`,
which keeps ``in_flight`` requests of the *upcoming* items under way, so that most replies are there when they are due.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import chain, islice
from typing import Protocol

from .backends.config import ModelConfig
from .backends.meter import NO_LIMITS, Limits, Spend
from .errors import BackendError, IsoprobeError, StoreError
from .lane import Asked, Event, Lane, key_in_store
from .probe import Request, RequestKey, Response
from .readouts.permute import reversed_request
from .sender import Sender
from .store import Store

LOOK_UP_AHEAD = 31
"""How many items after the present one of a local backend are built with it, to look up their replies at once."""


class Sends(Protocol):
    """A thread or a process that sends: :class:`~harness.sender.Sender`, :class:`~harness.courier.Courier`."""

    def ask(self, lane: Lane, key: RequestKey) -> Asked: ...

    def close(self, drain_s: float) -> None: ...


class Asker:
    """Hands each item its own reply and keeps the next ones coming.

    Args:
        configs: the models of this run by the name that stands in the request keys.
        store: where replies are kept; None keeps nothing (for checks of a single request).
        build: makes the request of a key; called in one thread at a time. The readout is the caller's to set.
        compose: writes a request's prompt text; used for the reversed order of options.
        upcoming: the keys this process is going to ask, in order; called often, on the background thread, and read no
            further than needed. Keys already asked may still be among them.
        limits: of the user, and this process's share of in_flight and rates.
        on_event: told what a person should know; on the background thread.
        run: names the run for limits that several processes share.
        offline: never send; an item without a stored reply is an error.
        sender: what asks the models that are not local; made when the first of them is asked.
    """

    def __init__(
        self,
        configs: Mapping[str, ModelConfig],
        store: Store | None,
        build: Callable[[RequestKey], Request],
        compose: Callable[[Request], str],
        upcoming: Callable[[], Iterable[RequestKey]] = tuple,
        limits: Limits = NO_LIMITS,
        on_event: Callable[[Event], None] | None = None,
        *,
        run: str = "",
        offline: bool = False,
        sender: Callable[[Asker], Sends] = Sender,
    ) -> None:
        self.store = store
        self._configs = configs
        self._build = build
        self._compose = compose
        self.upcoming = upcoming
        self._limits = limits
        self.on_event = on_event or (lambda event: None)
        self._run = run
        self._offline = offline
        self._build_lock = threading.Lock()
        self._lane_lock = threading.Lock()
        self.lanes: dict[str, Lane] = {}
        self._looked_up: dict[RequestKey, list[tuple[Request, str, Response | None]]] = {}
        self._make_sender = sender
        self._sender: Sends | None = None
        self._closed = False

    def ask(self, key: RequestKey) -> Asked:
        """The reply to one item; blocks until it is there.

        Raises:
            FatalError: the run must stop; also raised for every later item of that model.
            StopSending: a limit of the user's is reached and this item's reply is not in the store.
            BackendError, StoreError, SpecError, DataError: see their messages.
        """
        if self._closed:
            raise BackendError(f"{key}: the run was stopped before it was asked")
        if self._offline:
            return self._replayed(key)
        lane = self.lane(key.model)
        if lane.backend.local:
            return self._local(lane, key)
        if self._sender is None:
            self._sender = self._make_sender(self)
        return self._sender.ask(lane, key)

    def close(self, drain_s: float = 10.0) -> None:
        """Stop: nothing more is sent; wait up to ``drain_s`` seconds for what is under way, and keep its replies."""
        if self._closed:
            return
        self._closed = True
        if self._sender is not None:
            self._sender.close(drain_s)
        if self.store is not None:
            self.store.flush()

    # -- shared by the local path and the loop ----------------------------------------------------------------------

    def lane(self, model: str) -> Lane:
        """For the sender: a model of this run; its backend is made when it is first asked."""
        lane = self.lanes.get(model)
        if lane is None:
            config = self._config(model)
            with self._lane_lock:
                if model not in self.lanes:
                    self.lanes = {**self.lanes, model: Lane(config, self._limits, self.on_event, self._spend())}
            lane = self.lanes[model]
        return lane

    def _config(self, model: str) -> ModelConfig:
        if model not in self._configs:
            raise BackendError(f"model {model!r} is not one of this run's: {', '.join(self._configs)}")
        return self._configs[model]

    @property
    def remote(self) -> dict[str, ModelConfig]:
        """The models of this run that are not answered in the calling thread."""
        return {name: config for name, config in self._configs.items() if not self.lane(name).backend.local}

    def _spend(self) -> Spend | None:
        """Where the run's total is kept: in the store, as several processes add to it."""
        store, run = self.store, self._run
        if store is None or not run:
            return None
        return lambda requests, cost_usd: store.spend(run, requests, cost_usd)

    def requests(self, key: RequestKey) -> tuple[Request, ...]:
        """For the sender: the request of a key, and its reversed twin where the model asks for it."""
        config = self._config(key.model)
        with self._build_lock:
            request = self._build(key)
            if config.sampling:
                request = replace(request, sampling={**request.sampling, **config.sampling})
            if config.permute == "reverse" and len(request.options) > 1:
                return request, reversed_request(request, self._compose)
            return (request,)

    def _local(self, lane: Lane, key: RequestKey) -> Asked:
        if key not in self._looked_up:
            self._look_up(lane, key)
        replies, keys, found = [], [], 0
        for request, stored_as, response in self._looked_up.pop(key):
            if response is None and self.store:
                response = self.store.get(stored_as)
            if response is None:
                response = lane.backend.answer(request)
                if self.store:
                    self.store.put_free(stored_as, str(key), response)
            else:
                found += 1
            keys.append(stored_as)
            replies.append((request, response))
        return Asked(replies[0][0], tuple(replies), tuple(keys), found == len(replies))

    def _look_up(self, lane: Lane, key: RequestKey) -> None:
        """Build a key's requests and those of the next items, and look up all their replies at once.

        One by one, the look-up cost more than building. What turns out to be missing is looked up again in its turn.
        """
        built = {key: self.requests(key)}
        for later in islice(self.upcoming(), LOOK_UP_AHEAD):
            if later.model == key.model and later not in built:
                try:
                    built[later] = self.requests(later)
                except IsoprobeError:  # the item itself will tell
                    break
        names = {item: [lane.store_key(r) for r in requests] for item, requests in built.items()}
        found = self.store.get_many(list(chain(*names.values()))) if self.store else {}
        self._looked_up = {item: [(r, name, found.get(name)) for r, name in zip(built[item], names[item], strict=True)]
                           for item in built}

    def _replayed(self, key: RequestKey) -> Asked:
        """What the store has of an item. No backend is made: a replay needs neither a model nor its key or packages."""
        if self.store is None:
            raise StoreError("a replay needs the store of replies")
        requests = self.requests(key)
        keys = tuple(key_in_store(self._config(key.model), r) for r in requests)
        found = [self.store.get(k) or next(reversed(self.store.attempts(k)), None) for k in keys]  # a failure is one too
        if None in found:  # a changed readout asks for something else; the replies to the old one are what there is
            kept = self.store.by_item(str(key))[-len(requests):]
            if len(kept) < len(requests):
                raise StoreError(f"{key}: no reply in {self.store.path}; ask the model again, without --replay")
            keys, found = tuple(k for k, _ in kept), [r for _, r in kept]
        return Asked(requests[0], tuple(zip(requests, found, strict=True)), keys, True)  # type: ignore[arg-type]
