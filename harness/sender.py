"""The background event loop of one process: builds, claims, sends and stores what its items need next.

    upcoming() --> pump --> queue --> build (one thread) --> job --> claim --> slot --> complete --> commit --> result

The pump runs whenever there is room, and never lets more than :data:`harness.lane.AHEAD` times ``in_flight`` items be
under way or unread. Claims and commits of one turn of the loop share a transaction. Everything here runs on the loop's
own thread unless it says otherwise.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, Protocol

from .errors import BackendError, FatalError
from .lane import LEAST_AHEAD, Asked, Event, Lane
from .probe import Request, RequestKey, Response
from .store import HEARTBEAT_S, Claim, Store

_BUILD_S = 0.004  # building goes on that long before the loop hears of what is built
_CLAIM_S = 0.002
_WAIT_S = (0.02, 1.0)  # for a reply that another process has claimed: first and longest look again
_Built = tuple[Lane, RequestKey, "Future[Asked]", tuple[Request, ...] | Exception]


class Source(Protocol):
    """What the loop needs from its owner."""

    store: Store | None
    on_event: Callable[[Event], None]
    upcoming: Callable[[], Iterable[RequestKey]]
    lanes: Mapping[str, Lane]

    def lane(self, model: str) -> Lane: ...

    def requests(self, key: RequestKey) -> tuple[Request, ...]: ...


class Sender:
    """Starts its thread at once; ``close`` ends it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.store = source.store
        self.loop = asyncio.new_event_loop()
        self.builder = ThreadPoolExecutor(1, "isoprobe-build")
        self.tasks: set[asyncio.Task[Any]] = set()
        self.slots: dict[str, asyncio.Semaphore] = {}
        self.sending: dict[str, asyncio.Future[Response]] = {}
        self.claims: list[tuple[str, asyncio.Future[Claim]]] = []
        self.commits: list[tuple[str, Request, Response, asyncio.Semaphore, asyncio.Future[None]]] = []
        self.queue: deque[tuple[Lane, RequestKey, Future[Asked]]] = deque()
        self.open: set[Future[Asked]] = set()  # of every item that was started, until it has its reply or its error
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

    def ask(self, lane: Lane, key: RequestKey) -> Asked:
        """Blocks the calling thread; interruptible."""
        job = lane.jobs.get(key)
        if job is not None and job.done() and not job.cancelled():  # as most are: no need to trouble the loop's thread
            lane.given.add(key)
            lane.jobs.pop(key, None)
            if lane.has_room and not self.pumping:
                self.loop.call_soon_threadsafe(self._wake)
            return job.result()
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
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self._flush_commits()
        for future in list(self.open):  # queued, in the builder's hands, or of a task that never began: somebody waits
            future.cancel()
        for lane in self.source.lanes.values():
            await lane.backend.close()

    # -- choosing what to do next ------------------------------------------------------------------------------------

    def _want(self, lane: Lane, key: RequestKey, future: Future[Asked]) -> None:
        """An item is due now: join its job, or start it before all others."""
        job = lane.jobs.pop(key, None)
        if lane.fatal is not None and (job is None or not job.done()):  # a reply that came before the end is handed out
            future.set_exception(lane.fatal)
            return
        if self.closing:
            future.cancel()
            return
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
        lanes = self.source.lanes
        if self.closing or not any(lane.has_room for lane in lanes.values()):
            return
        reach = LEAST_AHEAD + max(lane.ahead for lane in lanes.values())
        room = {name: lane.room for name, lane in lanes.items()}
        try:
            for key in islice(self.source.upcoming(), reach):
                left = room.get(key.model)
                if left is None:
                    left = room[key.model] = self.source.lane(key.model).room
                if left <= 0:
                    continue
                lane = self.source.lane(key.model)
                if key in lane.jobs or key in lane.given:
                    continue
                lane.jobs[key] = self._start(lane, key)
                room[key.model] -= 1
        except Exception as e:  # looking ahead is a help, never a reason to fail: the item itself will tell
            self.source.on_event(Event("trouble", "", f"no look-ahead: {e}"))

    def _start(self, lane: Lane, key: RequestKey, *, now: bool = False) -> Future[Asked]:
        future: Future[Asked] = Future()
        self.open.add(future)
        future.add_done_callback(self.open.discard)
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

    def _build_some(self) -> list[_Built]:
        """On the builder thread."""
        built: list[_Built] = []
        until = time.perf_counter() + _BUILD_S
        while self.queue and (not built or time.perf_counter() < until):
            try:
                lane, key, future = self.queue.popleft()
            except IndexError:
                break
            try:
                requests = self.source.requests(key)
                for request in requests:
                    lane.store_key(request)  # hash it here: the loop has better things to do
                built.append((lane, key, future, requests))
            except Exception as e:
                built.append((lane, key, future, e))
        return built

    # -- one item ----------------------------------------------------------------------------------------------------

    async def _job(
        self, lane: Lane, key: RequestKey, future: Future[Asked], built: tuple[Request, ...] | Exception
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

    def _stop(self, lane: Lane, error: FatalError) -> None:
        if lane.fatal is None:
            lane.fatal = error
            self.source.on_event(Event("stopped", lane.config.name, str(error)))

    async def _reply(self, lane: Lane, request: Request, stored_as: str) -> tuple[Response, bool]:
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

    async def _claim_and_send(self, lane: Lane, request: Request, stored_as: str) -> tuple[Response, bool]:
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
            await asyncio.sleep(pause)
            if pause < _WAIT_S[1] <= 2 * pause:  # said once, when it takes a second and more
                self.source.on_event(Event("waiting", lane.config.name, f"another process asks for {request.key}"))
            pause = min(2 * pause, _WAIT_S[1])
        try:
            await slot.acquire()
            try:
                response = await self._send(lane, request)
            except BaseException:
                slot.release()
                raise
            await self._commit(stored_as, request, response, slot)
        except BaseException:
            self._release(stored_as)
            raise
        return response, False

    async def _send(self, lane: Lane, request: Request) -> Response:
        if lane.fatal is not None:
            raise lane.fatal
        if self.closing:
            raise asyncio.CancelledError
        response = await lane.backend.complete(request)
        self._compare(lane, response)
        return response

    def _compare(self, lane: Lane, response: Response) -> None:
        """Warn when another provider answers than asked for, or the provider or served model changes in mid-run."""
        notes = response.extra.get("notes", {})
        if "provider_served" in notes and not lane.misserved:
            lane.misserved = True
            self.source.on_event(Event("changed", lane.config.name, f"asked for {notes['provider_asked']}, "
                                       f"served by {notes['provider_served']}"))
        by = (response.provider, response.served_model)
        if any(by) and by not in lane.served and not response.error:
            if lane.served:
                before = " / ".join(filter(None, next(reversed(lane.served))))
                now = " / ".join(filter(None, by))
                self.source.on_event(Event("changed", lane.config.name, f"served by {now}, before by {before}"))
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

    async def _commit(self, stored_as: str, request: Request, response: Response, slot: asyncio.Semaphore) -> None:
        """Gives the slot back with the commit: never more than ``in_flight`` replies can be lost by a sudden death."""
        if self.store is None:
            slot.release()
            return
        future: asyncio.Future[None] = self.loop.create_future()
        if not self.commits:
            self.loop.call_soon(self._flush_commits)
        self.commits.append((stored_as, request, response, slot, future))
        await future

    def _release(self, stored_as: str) -> None:
        if self.store is not None:
            self.store.release([stored_as])

    def _flush_commits(self) -> None:
        """Every reply that came in this turn of the loop, in one transaction."""
        commits, self.commits = self.commits, []
        if not commits or self.store is None:
            return
        try:
            self.store.put_many([(name, str(request.key), response) for name, request, response, *_ in commits],
                                [request for _, request, *_ in commits])
            error = None
        except Exception as e:
            error = e
        for *_, slot, future in commits:
            slot.release()
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
