"""Asks models: one item at a time for pytest, many at once for the server.

Each process has one :class:`Asker`. Its ``ask(key)`` blocks until that item's reply is there. Behind it a background
thread runs one event loop that keeps ``in_flight`` requests of the *upcoming* items under way: it builds them, looks
them up in the store, claims, sends and stores them. Items of local backends (oracle, scripted) take a short cut through
the calling thread.

    ask(key) --- local ---> build -> store or answer
        |
        `--- remote --> job --> build (one builder thread) -> slot -> claim -> complete -> commit -> result
                         ^
        upcoming() ------'   looked at whenever a slot is free; never further than AHEAD times in_flight
"""

from __future__ import annotations

import asyncio
import atexit
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from .backends.base import Backend, create
from .backends.config import ModelConfig
from .backends.meter import NO_LIMITS, Counts, Limits, Meter
from .errors import BackendError, FatalError, StoreError
from .probe import Request, RequestKey, Response
from .readouts.permute import reversed_request
from .store import HEARTBEAT_S, Claim, Store, store_key

AHEAD = 4
"""Items under way or unread, as a multiple of ``in_flight``: one slow reply must not starve the server."""
LEAST_AHEAD = 64
_BUILD_S = 0.004  # building goes on that long before the loop hears of what is built
_CLAIM_S = 0.002
_WAIT_S = (0.02, 1.0)  # for a reply that another process has claimed: first and longest look again


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
class Progress:
    """How far this process is with one model."""

    model: str
    done: int
    in_flight: int
    per_second: float
    retries: int
    failed: int
    from_store: int
    tokens_in: int
    tokens_out: int
    cost_usd: float
    waiting_for: str

    def projected_usd(self, items: int) -> float | None:
        """Cost of ``items`` items at the price so far; None before the first reply that cost something."""
        paid = self.done - self.from_store
        return self.cost_usd * items / self.done if paid > 0 and self.done and self.cost_usd else None


@dataclass(frozen=True, slots=True)
class Event:
    """Something to show: ``retry``, ``changed`` (provider or served model), ``waiting``, ``stopped``; see ``text``."""

    kind: str
    model: str
    text: str


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
    ) -> None:
        self.store = store
        self._configs = configs
        self._build = build
        self._compose = compose
        self._upcoming = upcoming
        self._limits = limits
        self._on_event = on_event or (lambda event: None)
        self._run = run
        self._offline = offline
        self._build_lock = threading.Lock()
        self._lane_lock = threading.Lock()
        self._lanes: dict[str, _Lane] = {}
        self._loop: _Loop | None = None
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
        lane = self._lane(key.model)
        if self._offline:
            return self._replayed(lane, key)
        if lane.backend.local:
            return self._local(lane, key)
        if self._loop is None:
            self._loop = _Loop(self)
        return self._loop.ask(lane, key)

    def progress(self) -> list[Progress]:
        """One a model, in the order they were first asked."""
        return [lane.progress() for lane in self._lanes.values()]

    def close(self, drain_s: float = 10.0) -> None:
        """Stop: nothing more is sent; wait up to ``drain_s`` seconds for what is under way, and keep its replies."""
        if self._closed:
            return
        self._closed = True
        if self._loop is not None:
            self._loop.close(drain_s)
        if self.store is not None:
            self.store.flush()

    # -- shared by the local path and the loop ----------------------------------------------------------------------

    def _lane(self, model: str) -> _Lane:
        lane = self._lanes.get(model)
        if lane is None:
            if model not in self._configs:
                raise BackendError(f"model {model!r} is not one of this run's: {', '.join(self._configs)}")
            with self._lane_lock:
                if model not in self._lanes:
                    self._lanes = {**self._lanes, model: _Lane(self._configs[model], self)}
            lane = self._lanes[model]
        return lane

    def _requests(self, lane: _Lane, key: RequestKey) -> tuple[Request, ...]:
        """The request of a key, and its reversed twin where the model asks for it. One thread at a time."""
        with self._build_lock:
            request = self._build(key)
            sampling = lane.config.sampling
            if sampling:
                request = replace(request, sampling={**request.sampling, **sampling})
            if lane.config.permute == "reverse" and len(request.options) > 1:
                return request, reversed_request(request, self._compose)
            return (request,)

    def _local(self, lane: _Lane, key: RequestKey) -> Asked:
        requests = self._requests(lane, key)
        replies, keys, found = [], [], 0
        for request in requests:
            stored_as = lane.store_key(request)
            response = self.store.get(stored_as) if self.store else None
            if response is None:
                response = lane.backend.answer(request)
                if self.store:
                    self.store.put_free(stored_as, str(key), response)
            else:
                found += 1
            keys.append(stored_as)
            replies.append((request, response))
        lane.counts.done += 1
        lane.counts.stored += found == len(requests)
        return Asked(requests[0], tuple(replies), tuple(keys), found == len(requests))

    def _replayed(self, lane: _Lane, key: RequestKey) -> Asked:
        if self.store is None:
            raise StoreError("a replay needs the store of replies")
        requests = self._requests(lane, key)
        keys = tuple(lane.store_key(r) for r in requests)
        found = [self.store.get(k) for k in keys]
        if None in found:  # a changed readout asks for something else; the replies to the old one are what there is
            kept = self.store.by_item(str(key))[-len(requests):]
            if len(kept) < len(requests):
                raise StoreError(f"{key}: no reply in {self.store.path}; ask the model again, without --replay")
            keys, found = tuple(k for k, _ in kept), [r for _, r in kept]
        lane.counts.done += 1
        lane.counts.stored += 1
        return Asked(requests[0], tuple(zip(requests, found, strict=True)), keys, True)  # type: ignore[arg-type]


class _Lane:
    """One model: its backend, its limits and what is under way."""

    def __init__(self, config: ModelConfig, asker: Asker) -> None:
        self.config = config
        self.slots = max(1, round(config.in_flight * asker._limits.share))
        store, run = asker.store, asker._run
        shared = store is not None and run and not asker._offline
        self.meter = Meter(
            asker._limits,
            requests_per_minute=config.requests_per_minute,
            tokens_per_minute=config.tokens_per_minute,
            price_in=config.price_in,
            price_out=config.price_out,
            spend=(lambda n, usd: store.spend(run, n, usd)) if shared else None,  # type: ignore[union-attr]
            on_retry=lambda text, wait: asker._on_event(Event("retry", config.name, f"{text}; again in {wait:.1f} s")),
        )
        self.backend: Backend = create(config, self.meter)
        self.identity = config.identity_sha256
        self.jobs: dict[RequestKey, Future[Asked]] = {}
        self.given: set[RequestKey] = set()
        self.active = 0
        self.fatal: FatalError | None = None
        self.served: dict[tuple[str, str], None] = {}
        self.misserved = False

    @property
    def counts(self) -> Counts:
        return self.meter.counts

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
        return store_key(request, self.identity, self.backend.identity(request))

    def progress(self) -> Progress:
        c = self.counts
        rate = c.done / max(1e-9, time.monotonic() - c.started)
        return Progress(self.config.name, c.done, c.in_flight, rate, c.retries, c.failed, c.stored, c.tokens_in,
                        c.tokens_out, c.cost_usd, c.waiting_for)


class _Loop:
    """The background event loop. Everything below runs on its thread unless it says otherwise."""

    def __init__(self, asker: Asker) -> None:
        self.asker = asker
        self.store = asker.store
        self.loop = asyncio.new_event_loop()
        self.builder = ThreadPoolExecutor(1, "isoprobe-build")
        self.tasks: set[asyncio.Task[Any]] = set()
        self.slots: dict[str, asyncio.Semaphore] = {}
        self.sending: dict[str, asyncio.Future[Response]] = {}
        self.claims: list[tuple[str, asyncio.Future[Claim]]] = []
        self.commits: list[tuple[str, str, Response, Request, asyncio.Future[None]]] = []
        self.queue: deque[tuple[_Lane, RequestKey, Future[Asked]]] = deque()
        self.building = False
        self.pumping = False
        self.closing = False
        self.thread = threading.Thread(target=self._run, name="isoprobe-ask", daemon=True)
        self.thread.start()
        atexit.register(self.close, 0.0)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        beating = self.loop.create_task(self._beat())
        try:
            self.loop.run_forever()
        finally:
            beating.cancel()
            self.loop.run_until_complete(asyncio.gather(beating, return_exceptions=True))
            self.loop.close()

    # -- called from other threads -----------------------------------------------------------------------------------

    def ask(self, lane: _Lane, key: RequestKey) -> Asked:
        """Blocks the calling thread; interruptible."""
        future: Future[Asked] = Future()
        self.loop.call_soon_threadsafe(self._want, lane, key, future)
        try:
            return future.result()
        except CancelledError:
            raise BackendError(f"{key}: the run was stopped before its reply came") from None

    def close(self, drain_s: float) -> None:
        """From any other thread; may be called twice."""
        atexit.unregister(self.close)
        if not self.thread.is_alive() or self.loop.is_closed():
            return
        done = asyncio.run_coroutine_threadsafe(self._shut(drain_s), self.loop)
        try:
            done.result(drain_s + 10.0)
        except (TimeoutError, CancelledError):
            pass
        except KeyboardInterrupt:  # a second Ctrl-C: no more waiting
            done.cancel()
            raise
        finally:
            self.loop.call_soon_threadsafe(self.loop.stop)
            self.thread.join(5.0)
            self.builder.shutdown(wait=False, cancel_futures=True)

    async def _shut(self, drain_s: float) -> None:
        self.closing = True
        if drain_s > 0 and self.tasks:
            await asyncio.wait(self.tasks, timeout=drain_s)
        for task in list(self.tasks):
            task.cancel()
        for _, _, future in self.queue:
            future.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self._flush_commits()
        for lane in self.asker._lanes.values():
            await lane.backend.close()
            for future in lane.jobs.values():
                future.cancel()

    # -- choosing what to do next ------------------------------------------------------------------------------------

    def _want(self, lane: _Lane, key: RequestKey, future: Future[Asked]) -> None:
        """An item is due now: join its job, or start it before all others."""
        if lane.fatal is not None:
            future.set_exception(lane.fatal)
            return
        if self.closing:
            future.cancel()
            return
        job = lane.jobs.pop(key, None)
        lane.given.add(key)
        if job is None:
            job = self._start(lane, key, now=True)
        job.add_done_callback(lambda done: _pass_on(done, future))
        self._wake()

    def _wake(self) -> None:
        if not self.pumping and not self.closing:
            self.pumping = True
            self.loop.call_soon(self._pump)

    def _pump(self) -> None:
        """Start upcoming items while there is room; one pass serves all that changed in this turn of the loop."""
        self.pumping = False
        lanes = self.asker._lanes
        if self.closing or not any(lane.has_room for lane in lanes.values()):
            return
        reach = LEAST_AHEAD + max(lane.ahead for lane in lanes.values())
        try:
            for key in islice(self.asker._upcoming(), reach):
                lane = lanes.get(key.model) or self.asker._lane(key.model)
                if lane.room <= 0 or key in lane.jobs or key in lane.given:
                    continue
                lane.jobs[key] = self._start(lane, key)
        except Exception as e:  # looking ahead is a help, never a reason to fail: the item itself will tell
            self.asker._on_event(Event("waiting", "", f"no look-ahead: {e}"))

    def _start(self, lane: _Lane, key: RequestKey, *, now: bool = False) -> Future[Asked]:
        future: Future[Asked] = Future()
        lane.active += 1
        (self.queue.appendleft if now else self.queue.append)((lane, key, future))
        if not self.building:
            self.building = True
            self._task(self._build_queue())
        return future

    def _task(self, work: Coroutine[Any, Any, None]) -> None:
        task = self.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _build_queue(self) -> None:
        """Build what is queued, a few milliseconds' worth for each change of threads, and start their jobs."""
        try:
            while self.queue and not self.closing:
                for lane, key, future, built in await self.loop.run_in_executor(self.builder, self._build_some):
                    self._task(self._job(lane, key, future, built))
        finally:
            self.building = False

    def _build_some(self) -> list[tuple[_Lane, RequestKey, Future[Asked], tuple[Request, ...] | Exception]]:
        """On the builder thread."""
        built: list[tuple[_Lane, RequestKey, Future[Asked], tuple[Request, ...] | Exception]] = []
        until = time.perf_counter() + _BUILD_S
        while self.queue and (not built or time.perf_counter() < until):
            try:
                lane, key, future = self.queue.popleft()
            except IndexError:
                break
            try:
                requests = self.asker._requests(lane, key)
                for request in requests:
                    lane.store_key(request)  # hash it here: the loop has better things to do
                built.append((lane, key, future, requests))
            except Exception as e:
                built.append((lane, key, future, e))
        return built

    # -- one item ----------------------------------------------------------------------------------------------------

    async def _job(
        self, lane: _Lane, key: RequestKey, future: Future[Asked], built: tuple[Request, ...] | Exception
    ) -> None:
        try:
            if isinstance(built, Exception):
                raise built
            keys = tuple(lane.store_key(r) for r in built)
            if len(built) == 1:
                got = [await self._reply(lane, built[0], keys[0])]
            else:
                got = await asyncio.gather(*(self._reply(lane, r, k) for r, k in zip(built, keys, strict=True)))
            stored = all(was_there for _, was_there in got)
            lane.counts.done += 1
            lane.counts.stored += stored
            replies = tuple((request, response) for request, (response, _) in zip(built, got, strict=True))
            future.set_result(Asked(built[0], replies, keys, stored))
        except asyncio.CancelledError:
            future.cancel()
        except FatalError as e:
            self._stop(lane, e)
            future.set_exception(e)
        except Exception as e:
            future.set_exception(e)
        finally:
            lane.active -= 1
            self._wake()

    def _stop(self, lane: _Lane, error: FatalError) -> None:
        if lane.fatal is None:
            lane.fatal = error
            self.asker._on_event(Event("stopped", lane.config.name, str(error)))

    async def _reply(self, lane: _Lane, request: Request, stored_as: str) -> tuple[Response, bool]:
        """The reply to one request, and whether it was there already."""
        shared = self.sending.get(stored_as)
        if shared is not None:  # two items that ask the same thing
            return await asyncio.shield(shared), True
        shared = self.sending[stored_as] = self.loop.create_future()
        shared.add_done_callback(lambda f: f.cancelled() or f.exception())  # nobody has to wait for it
        try:
            response, stored = await self._claim_and_send(lane, request, stored_as)
            shared.set_result(response)
            return response, stored
        except BaseException as e:
            if not shared.done():
                if isinstance(e, asyncio.CancelledError):
                    shared.cancel()
                else:
                    shared.set_exception(e)
            raise
        finally:
            del self.sending[stored_as]

    async def _claim_and_send(self, lane: _Lane, request: Request, stored_as: str) -> tuple[Response, bool]:
        slot = self.slots.setdefault(lane.config.name, asyncio.Semaphore(lane.slots))
        pause = _WAIT_S[0]
        while True:
            claim = await self._claim(stored_as)
            if claim.state == "done" and claim.response is not None:
                return claim.response, True
            if claim.state == "mine":
                break
            if self.closing:
                raise asyncio.CancelledError
            lane.counts.waiting_for = "another process that has claimed the request"
            await asyncio.sleep(pause)
            lane.counts.waiting_for = ""
            pause = min(2 * pause, _WAIT_S[1])
        try:
            async with slot:  # to the commit: never more than in_flight replies can be lost by a sudden death
                response = await self._send(lane, request)
                await self._commit(stored_as, str(request.key), response, request)
        except BaseException:
            self._release(stored_as)
            raise
        return response, False

    async def _send(self, lane: _Lane, request: Request) -> Response:
        if lane.fatal is not None:
            raise lane.fatal
        if self.closing:
            raise asyncio.CancelledError
        lane.counts.in_flight += 1
        try:
            response = await lane.backend.complete(request)
        finally:
            lane.counts.in_flight -= 1
        lane.counts.failed += bool(response.error)
        self._compare(lane, response)
        return response

    def _compare(self, lane: _Lane, response: Response) -> None:
        """Warn when another provider answers than asked for, or the provider or served model changes in mid-run."""
        notes = response.extra.get("notes", {})
        if "provider_served" in notes and not lane.misserved:
            lane.misserved = True
            self.asker._on_event(Event("changed", lane.config.name, f"asked for {notes['provider_asked']}, "
                                       f"served by {notes['provider_served']}"))
        by = (response.provider, response.served_model)
        if any(by) and by not in lane.served and not response.error:
            if lane.served:
                before = " / ".join(filter(None, next(reversed(lane.served))))
                now = " / ".join(filter(None, by))
                self.asker._on_event(Event("changed", lane.config.name, f"served by {now}, before by {before}"))
            lane.served[by] = None

    # -- the store, in batches ---------------------------------------------------------------------------------------

    async def _claim(self, stored_as: str) -> Claim:
        if self.store is None:
            return Claim("mine")
        future: asyncio.Future[Claim] = self.loop.create_future()
        if not self.claims:  # a moment's delay lets many share a transaction, and no slot waits for it
            self.loop.call_later(_CLAIM_S, self._flush_claims)
        self.claims.append((stored_as, future))
        return await future

    async def _commit(self, stored_as: str, item: str, response: Response, request: Request) -> None:
        if self.store is None:
            return
        future: asyncio.Future[None] = self.loop.create_future()
        if not self.commits:
            self.loop.call_soon(self._flush_commits)
        self.commits.append((stored_as, item, response, request, future))
        await asyncio.shield(future)

    def _release(self, stored_as: str) -> None:
        if self.store is not None:
            self.store.release([stored_as])

    def _flush_commits(self) -> None:
        """Every reply that came in this turn of the loop, in one transaction."""
        commits, self.commits = self.commits, []
        if not commits or self.store is None:
            return
        try:
            self.store.put_many([c[:3] for c in commits], [c[3] for c in commits])
            error = None
        except Exception as e:
            error = e
        for *_, future in commits:
            if not future.done():
                future.set_result(None) if error is None else future.set_exception(error)

    def _flush_claims(self) -> None:
        claims, self.claims = self.claims, []
        if not claims or self.store is None:
            return
        try:
            found = self.store.claim_many([key for key, _ in claims])
        except Exception as e:
            for _, future in claims:
                if not future.done():
                    future.set_exception(e)
            return
        for (key, future), claim in zip(claims, found, strict=True):
            if not future.done():
                future.set_result(claim)
            elif claim.state == "mine":  # whoever wanted it has gone
                self._release(key)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            if self.store is not None:
                self.store.beat()


def _pass_on(done: Future[Asked], to: Future[Asked]) -> None:
    if done.cancelled():
        to.cancel()
    elif (error := done.exception()) is not None:
        to.set_exception(error)
    else:
        to.set_result(done.result())
