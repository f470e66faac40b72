"""HTTP with retries: one keep-alive client a process, back-off with full jitter, and a verdict on every failure.

===================================  ================================================================================
what came back                       what it means
===================================  ================================================================================
408 409 425 429 5xx 529, a broken    worth another try after ``Retry-After`` (seconds or an HTTP date), or after a
connection, a body that is cut       random wait below base * 2^try
short, HTML, not JSON, or empty
401 402 403 404 501                  the run stops: trying again without a change by the user cannot help
any other 4xx                        this one request cannot be served; its error is its outcome
an error object inside a 200         as the code inside it says
===================================  ================================================================================
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import os
import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import httpx

from ..errors import BackendError, FatalError, TransientError, one_line
from ..probe import Usage
from .config import ModelConfig
from .connection import Reply
from .meter import Meter, usage
from .pool import Address, Pool

T = TypeVar("T")

BACKOFF_S = (0.5, 30.0)
"""Base and cap of the random waits."""
LONGEST_WAIT_S = 900.0
"""A service that asks for more than that stops the run."""
_RETRIED = frozenset({408, 409, 425, 429, 529})
_ADVICE = {
    401: "the key is missing or wrong: set the environment variable {key_env}",
    402: "the account has no credit left: top it up",
    403: "the key has no access to this model, or the input was blocked: check the account's permissions",
    404: "there is no such model or address: check the model id and base_url",
    501: "this server cannot serve this kind of request for this model: choose another backend or readout",
}


class GaveUp(BackendError):
    """One request has no answer: it cannot be served, or every try failed. ``tries`` were made."""

    def __init__(self, message: str, tries: int) -> None:
        super().__init__(message)
        self.tries = tries


class _Unreachable(TransientError):
    """Nothing listens there, or there is no such host."""


@dataclass(frozen=True, slots=True)
class Sent(Generic[T]):
    """A parsed reply, the tries it took, how long the last one lasted, and what it used."""

    value: T
    tries: int
    latency_s: float
    usage: Usage


class Key:
    """The secret of a service. It never shows: not in a repr, a header dump, or a traceback's locals."""

    def __init__(self, value: str) -> None:
        self._value = value

    def __repr__(self) -> str:
        return "Key(***)" if self._value else "Key()"

    def __bool__(self) -> bool:
        return bool(self._value)

    def header(self) -> bytes:
        """The header line, for the one expression that writes it out."""
        return f"Authorization: Bearer {self._value}\r\n".encode() if self._value else b""

    def redact(self, reply: Reply) -> Reply:
        """A reply without the key in its body, whoever put it there."""
        secret = self._value.encode()
        return replace(reply, body=reply.body.replace(secret, b"***")) if secret and secret in reply.body else reply


class Transport:
    """Posts JSON to one service for one model.

    Raises:
        FatalError: the environment variable that ``config.key_env`` names is not set.
    """

    def __init__(self, config: ModelConfig, meter: Meter | None) -> None:
        self.config = config
        self.meter = meter or Meter()
        self.key = Key(os.environ.get(config.key_env, "").strip() if config.key_env else "")
        if config.key_env and not self.key and not config.options.get("key_optional"):
            raise FatalError(f"model {config.name}: set the environment variable {config.key_env} to its key")
        self.backoff_s = tuple(config.options.get("backoff_s", BACKOFF_S))
        self._random = random.Random()
        self._addresses: dict[str, Address] = {}

    async def post(
        self, url: str, body: Mapping[str, Any], parse: Callable[[dict[str, Any]], T], *, tokens: int = 0
    ) -> Sent[T]:
        """Send until ``parse`` accepts the reply's JSON object. What a reply used is counted before: a refused one is paid.

        Args:
            parse: raises TransientError for a reply that is not whole; what it returns is the result.
            tokens: about how many the request will use, for the limit a minute.

        Raises:
            GaveUp, FatalError, StopSending: see the module docstring.
        """
        content = json.dumps(body, ensure_ascii=True, separators=(",", ":")).encode()
        for tries in range(1, self.config.max_tries + 1):
            await self.meter.before_send(tokens)
            started = time.perf_counter()
            try:
                data = await self._once(url, content)
                used = self.meter.after_reply(usage(data.get("usage")), tokens)
                self.check(data.get("error"))
                return Sent(understood(parse, data), tries, time.perf_counter() - started, used)
            except TransientError as e:
                last = e
            except GaveUp as e:
                e.tries = tries
                raise
            if tries < self.config.max_tries:
                wait = self._wait(tries, last)
                self.meter.tell("retry", f"{last}; again in {wait:.1f} s")
                await asyncio.sleep(wait)
        if isinstance(last, _Unreachable) and self.config.max_tries > 1:
            raise FatalError(f"model {self.config.name}: nothing answers at {url} ({self.config.max_tries} tries); "
                             "start the server or correct base_url. Every reply so far is kept; run again to go on")
        raise GaveUp(f"{last} (gave up after {self.config.max_tries} tries)", self.config.max_tries)

    async def _once(self, url: str, content: bytes) -> dict[str, Any]:
        try:
            async with asyncio.timeout(self.config.timeout_s):
                reply = self.key.redact(await shared_pool().post(self._address(url), content, self.key.header))
        except TimeoutError:
            raise TransientError(f"no reply within {self.config.timeout_s:g} s") from None
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as e:
            raise FatalError(f"model {self.config.name}: {url}: {e}; check base_url") from None
        except httpx.ConnectError as e:
            raise _Unreachable(f"no connection: {e}") from None
        except (httpx.TransportError, httpx.DecodingError) as e:  # broken, refused, cut short
            raise TransientError(f"{type(e).__name__}: {e}" if str(e) else type(e).__name__) from None
        if reply.status >= 300:
            after = reply.headers.get(b"retry-after")
            self.fail(reply.status, _message(reply.body), retry_after(after.decode("latin-1") if after else None))
        text = reply.body.decode("utf-8", "replace")
        try:
            data = json.loads(text, strict=False)
        except (ValueError, RecursionError):
            kind = "HTML" if text.lstrip()[:1] == "<" else "an empty body" if not text.strip() else "a body cut short"
            raise TransientError(f"{kind} with status {reply.status}") from None
        if not isinstance(data, dict):
            raise TransientError(f"a JSON {type(data).__name__} with status {reply.status} where an object is due")
        return data

    def _address(self, url: str) -> Address:
        if url not in self._addresses:
            self._addresses[url] = Address.of(url)
        return self._addresses[url]

    def check(self, error: Any) -> None:
        """Raise what an error object inside a reply means; nothing where there is none."""
        if not error:
            return
        fields = error if isinstance(error, dict) else {"message": error}
        metadata = _object(fields, "metadata")
        headers = _object(metadata, "headers")
        after = headers.get("Retry-After") or metadata.get("retry_after") or metadata.get("retry_after_seconds")
        message = " ".join(str(x) for x in (fields.get("message"), metadata.get("raw")) if x)
        code = str(fields.get("code") or fields.get("status") or "")
        self.fail(int(code) if code.isdigit() else 502, message or "an error without a message",
                  retry_after(None if after is None else str(after)))

    def fail(self, status: int, message: str, after: float | None) -> None:
        """Raise the verdict on a failure of that HTTP status (or code inside a reply)."""
        message = one_line(message, 500)
        said = f"{status}: {message}" if message else str(status)
        if status in _ADVICE:
            advice = _ADVICE[status].format(key_env=self.config.key_env or "of its key (key_env)")
            raise FatalError(f"model {self.config.name}: the service answered {said}; {advice}. "
                             "Every reply so far is kept; run again to go on")
        if status in _RETRIED or status >= 500:
            if after is not None and after > LONGEST_WAIT_S:
                raise FatalError(f"model {self.config.name}: the service answered {said} and asks to wait "
                                 f"{after:.0f} s; run again then: every reply so far is kept")
            raise TransientError(said, after)
        raise GaveUp(f"the service answered {said}", 1)

    def _wait(self, tries: int, error: TransientError) -> float:
        base, cap = self.backoff_s
        wait = self._random.uniform(0.0, min(cap, base * 2.0 ** (tries - 1)))
        if error.retry_after_s is None:
            return wait
        if str(error).startswith(("429", "503", "529")):  # said to one, meant for all
            self.meter.pause(error.retry_after_s)
        return error.retry_after_s + min(wait, 0.1 * error.retry_after_s)


def understood(parse: Callable[[dict[str, Any]], T], data: dict[str, Any]) -> T:
    """``parse(data)``, where a reply of another shape than the protocol's is worth another try, not a crash."""
    try:
        return parse(data)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as e:
        raise TransientError(f"a reply of another shape than its protocol's ({type(e).__name__}: {str(e)[:200]})") from None


def retry_after(value: str | None, now: float | None = None) -> float | None:
    """Seconds to wait by a ``Retry-After`` header: a number, or an HTTP date; None where it is neither."""
    if not value:
        return None
    if re.fullmatch(r"\s*\d+(\.\d+)?\s*", value):
        return float(value)
    try:
        due = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, due.timestamp() - (time.time() if now is None else now))


def _message(raw: bytes) -> str:
    """What a failed reply says, as one line."""
    text = raw[:20_000].decode("utf-8", "replace")
    try:
        data = json.loads(text)
        error = data.get("error", data) if isinstance(data, dict) else data
        text = str(error.get("message", error) if isinstance(error, dict) else error)
    except (ValueError, AttributeError):
        if text.lstrip().startswith("<"):
            text = re.sub(r"<[^>]*>", " ", text)
    return one_line(text, 500)


_pools: WeakKeyDictionary[asyncio.AbstractEventLoop, Pool] = WeakKeyDictionary()


def shared_pool() -> Pool:
    """The connections of the running loop; a process has one loop that sends."""
    loop = asyncio.get_running_loop()
    if loop not in _pools:
        _pools[loop] = Pool()
    return _pools[loop]


async def close_pool() -> None:
    """Close the running loop's connections, if there are any."""
    pool = _pools.pop(asyncio.get_running_loop(), None)
    if pool is not None:
        await pool.aclose()


def _object(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The object of that name, empty where there is none or it is something else."""
    found = fields.get(name)
    return found if isinstance(found, dict) else {}
