"""What every backend offers, and how one is made from its configuration."""

from __future__ import annotations

import functools
import pkgutil
from typing import TYPE_CHECKING

from ..errors import BackendError, near
from ..probe import Request, Response
from . import BACKENDS
from .config import ModelConfig

if TYPE_CHECKING:
    from .meter import Meter


class Backend:
    """Base of all backends; a subclass overrides :meth:`complete`, or :meth:`answer` when ``local`` is true.

    ``local`` backends compute their answer at once, free of charge, in the calling thread: they are never sent ahead
    and need no lease. All others are awaited on the background event loop.
    """

    local = False

    def __init__(self, config: ModelConfig, meter: Meter | None = None) -> None:
        self.config = config
        self.meter = meter

    @classmethod
    def identity(cls, config: ModelConfig, request: Request) -> str:
        """More of what determines the reply to this request than its content and the configuration say; usually "".

        Asked of the class, so that stored replies are found where the model itself cannot be had any more.
        """
        return ""

    def answer(self, request: Request) -> Response:
        """The reply of a local backend."""
        raise NotImplementedError(f"{type(self).__name__} is not local")

    async def complete(self, request: Request) -> Response:
        """Ask once and return the raw reply.

        A failure that another try could mend was tried ``max_tries`` times and then stands in ``Response.error``.

        Raises:
            FatalError: nothing will work before the user changes something.
            StopSending: a limit that the user set is reached; nothing was sent.
        """
        return self.answer(request)

    async def close(self) -> None:
        """Give back connections, threads and models. May be called twice."""


def backend_class(config: ModelConfig) -> type[Backend]:
    """What ``config.backend`` names, imported now and not loaded.

    Raises:
        BackendError: an unknown backend, or one whose extra packages are not installed.
    """
    if config.backend not in BACKENDS:
        raise BackendError(f"model {config.name}: {config.backend!r} is not a backend{near(config.backend, BACKENDS)}")
    try:
        return _resolved(BACKENDS[config.backend])
    except ModuleNotFoundError as e:
        raise BackendError(f"model {config.name}: backend {config.backend!r} needs the package {e.name!r}; "
                           "install isoprobe with its extra for it") from e


@functools.cache
def _resolved(name: str) -> type[Backend]:
    found: type[Backend] = pkgutil.resolve_name(name)
    return found


def create(config: ModelConfig, meter: Meter | None = None) -> Backend:
    """The backend that ``config`` names, with its packages, weights and key.

    Raises:
        BackendError: see :func:`backend_class`; or the backend cannot be had as configured.
    """
    return backend_class(config)(config, meter)
