"""One model in one process: its backend, its limits, what is under way, and what is told of it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from .backends.base import Backend, backend_class, create
from .backends.config import ModelConfig
from .backends.meter import Limits, Meter, Spend
from .errors import FatalError, one_line
from .probe import Request, RequestKey, Response
from .store import store_key

AHEAD = 4
"""Items under way or unread, as a multiple of ``in_flight``: one slow reply must not starve the server."""
LEAST_AHEAD = 64


@dataclass(frozen=True, slots=True)
class Asked:
    """An item's request and its replies: one, or forward and reversed."""

    request: Request
    replies: tuple[tuple[Request, Response], ...]
    store_keys: tuple[str, ...] = ()
    from_store: bool = False

    @property
    def responses(self) -> tuple[Response, ...]:
        return tuple(response for _, response in self.replies)


@dataclass(frozen=True, slots=True)
class Event:
    """Something to show: ``retry``, ``waiting``, ``changed`` (provider or served model), ``trouble``, ``stopped``.

    What a service says of itself stands in ``text`` too, so it is made one harmless line."""

    kind: str
    model: str
    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", one_line(self.text))


def key_in_store(config: ModelConfig, request: Request) -> str:
    """The store's key of a request to that model; the model itself, its packages and its key are not needed."""
    return store_key(request, config.identity_sha256, backend_class(config).identity(config, request))


class Lane:
    """One model: its backend, its limits and what is under way."""

    def __init__(
        self, config: ModelConfig, limits: Limits, on_event: Callable[[Event], None], spend: Spend | None = None
    ) -> None:
        self.config = config
        self.slots = max(1, round(config.in_flight * limits.share))
        self.meter = Meter(
            limits,
            requests_per_minute=config.requests_per_minute,
            tokens_per_minute=config.tokens_per_minute,
            price_in=config.price_in,
            price_out=config.price_out,
            spend=spend,
            tell=lambda kind, text: on_event(Event(kind, config.name, text)),
        )
        self.backend: Backend = create(config, self.meter)
        self.jobs: dict[RequestKey, Future[Asked]] = {}
        self.given: set[RequestKey] = set()
        self.active = 0
        self.fatal: FatalError | None = None
        self.served: dict[tuple[str, str], None] = {}
        self.misserved = False

    @property
    def ahead(self) -> int:
        return max(LEAST_AHEAD, AHEAD * self.slots)

    @property
    def room(self) -> int:
        """How many more items may be started ahead."""
        if self.backend.local or self.fatal is not None:
            return 0
        return min(2 * self.slots - self.active, self.ahead - len(self.jobs))

    @property
    def has_room(self) -> bool:
        """Whether it is worth looking for more: a scan of what comes next should find several."""
        return self.room * 2 >= self.slots

    def store_key(self, request: Request) -> str:
        return key_in_store(self.config, request)
