"""Sends from a process of its own, so that pytest and hundreds of replies a second do not share one interpreter.

    process of the items    Courier: hands over the keys that come next, takes an Asked or an error for each
    process of the courier  an Asker with the same models, specs, store and limits, whose look-ahead are those keys

A session with 64 requests under way needs more than one core's worth of Python: half of it for pytest's own items. The
two ends talk through two pipes, in pickles of their own making. The courier's process ends when the pipe from the items
closes, however that came about, and gives up its claims; what it had under way is asked again by the next run.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from .backends.config import ModelConfig
from .backends.meter import Limits
from .build import Builder
from .collector import relax
from .dispatch import Asker
from .errors import BackendError, FatalError, IsoprobeError
from .lane import AHEAD, LEAST_AHEAD, Asked, Event, Lane
from .probe import RequestKey

CHUNK = 64
"""Keys are handed over so many at once."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a courier is told when it starts: everything that an :class:`~harness.dispatch.Asker` needs, picklable."""

    configs: Mapping[str, ModelConfig]
    build: Builder
    store: Path
    limits: Limits
    run: str


class Courier:
    """The items' end. Has the ``ask`` and ``close`` of :class:`harness.sender.Sender`; for one thread.

    Args:
        job: see there.
        upcoming: the keys this process is going to ask, in order.
        on_event: told what a person should know.
    """

    def __init__(self, job: Job, upcoming: Callable[[], Iterable[RequestKey]], on_event: Callable[[Event], None]):
        self.upcoming, self.on_event = upcoming, on_event
        self._models = frozenset(job.configs)
        slots = max(1, round(max(c.in_flight for c in job.configs.values()) * job.limits.share))
        self._reach = LEAST_AHEAD + max(LEAST_AHEAD, AHEAD * slots) + CHUNK
        self._asked: set[RequestKey] = set()  # handed over, nothing came back yet
        self._came: dict[RequestKey, Asked | Exception] = {}
        orders, out = os.pipe()
        back, answers = os.pipe()
        path = os.pathsep.join(p or os.getcwd() for p in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"from harness.courier import main; main({orders}, {answers})"],
            pass_fds=(orders, answers), stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": path},
            process_group=0)  # Ctrl-C is for the items' process, which then says how to end
        os.close(orders)
        os.close(answers)
        self._out, self._back = Connection(out, readable=False), Connection(back, writable=False)
        self._tell(job)

    def ask(self, lane: Lane, key: RequestKey) -> Asked:
        """Blocks the calling thread; interruptible."""
        if key not in self._came and key not in self._asked:
            self._asked.add(key)
            self._tell(("now", [key]))
        if len(self._asked) + CHUNK <= self._reach:
            more = [k for k in islice(self.upcoming(), self._reach)
                    if k.model in self._models and k not in self._asked and k not in self._came]
            if more:
                self._asked.update(more)
                self._tell(("ahead", more))
        while key not in self._came:
            self._receive()
        found = self._came.pop(key)
        if isinstance(found, Exception):
            raise found
        return found

    def close(self, drain_s: float) -> None:
        """What is under way may take that long to end, and is kept. May be called twice."""
        with contextlib.suppress(BackendError):
            self._tell(("close", drain_s))
        self._out.close()
        until = time.monotonic() + drain_s + 10.0
        reader = threading.Thread(target=self._discard, daemon=True)  # or a full pipe would keep it from ending
        reader.start()
        try:
            self._process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        reader.join(1.0)
        self._back.close()

    def _discard(self) -> None:
        with contextlib.suppress(OSError):
            while os.read(self._back.fileno(), 1 << 16):
                pass

    def _tell(self, message: Any) -> None:
        try:
            self._out.send(message)
        except OSError:  # closed here, or nobody is there any more
            raise self._gone() from None

    def _receive(self) -> None:
        try:
            key, found = self._back.recv()
        except (EOFError, OSError):
            raise self._gone() from None
        if key is None:
            self.on_event(found)
        else:
            self._asked.discard(key)
            self._came[key] = found

    def _gone(self) -> Exception:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(2.0)
        return FatalError(f"the process that sends requests has ended (status {self._process.returncode}); "
                          "every reply so far is kept: run again to go on")


def main(orders: int, answers: int) -> None:
    """The courier's end: asks in the order of the keys that it is given, until it is told to close or the pipe closes."""
    from . import prompts
    from .store import Store

    incoming, outgoing = Connection(orders, writable=False), Connection(answers, readable=False)
    sending = threading.Lock()

    def post(key: RequestKey | None, what: Any) -> None:
        with sending, contextlib.suppress(OSError):  # nobody listens any more: the end is near
            outgoing.send((key, what))

    job: Job = incoming.recv()
    relax()
    sys.setswitchinterval(0.0005)  # or the loop waits 5 ms for the thread that builds, each time that it wakes
    queue: deque[RequestKey] = deque()
    news = threading.Semaphore(0)  # one for each key, and one for the end
    with Store(job.store) as store:
        asker = Asker(job.configs, store, job.build, prompts.compose, lambda: tuple(queue), job.limits,
                      lambda event: post(None, event), run=job.run)

        def listen() -> None:
            drain_s = 0.0
            with contextlib.suppress(EOFError, OSError):
                while True:
                    kind, what = incoming.recv()
                    if kind == "close":
                        drain_s = what
                        break
                    (queue.extendleft if kind == "now" else queue.extend)(what)
                    news.release(len(what))
            queue.clear()
            asker.close(drain_s)
            news.release()

        listener = threading.Thread(target=listen, name="isoprobe-listen", daemon=True)
        listener.start()
        while True:
            news.acquire()
            try:
                key = queue.popleft()
            except IndexError:
                break
            try:
                found: Asked | Exception = asker.ask(key)
            except Exception as error:
                found = portable(error)
            post(key, found)
        listener.join()


def portable(error: Exception) -> Exception:
    """An error that can travel: itself where it can, else what it said. A fault of ours takes its traceback along."""
    if not isinstance(error, IsoprobeError):
        error.add_note(f"in the process that sends requests:\n{traceback.format_exc()}")
    try:
        pickle.loads(pickle.dumps(error))
        return error
    except Exception:
        return BackendError(f"{type(error).__name__}: {error}")
