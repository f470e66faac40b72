"""Counts what is sent and what it costs, and holds back what would break a limit: one meter a model and process."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import StopSending
from ..probe import Usage

Spend = Callable[[int, float], tuple[int, float]]
"""(requests, dollars) to add to a run's total -> the total of all its processes."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the user allows a run, and the share of a model's limits that falls to this process.

    Attributes:
        max_cost_usd, max_requests: for all processes of the run together; None is no limit.
        share: 1 / number of processes; scales ``in_flight`` and the rates a minute.
    """

    max_cost_usd: float | None = None
    max_requests: int | None = None
    share: float = 1.0


NO_LIMITS = Limits()
LONG_S = 5.0


class Bucket:
    """A token bucket for a limit a minute: it lets a second's worth through at once and spreads the rest evenly.

    ``now`` and the returned waits are seconds. A rate of 0 never waits.
    """

    def __init__(self, per_minute: float, burst_s: float = 1.0) -> None:
        self.rate = per_minute / 60.0
        self.burst = max(1.0, self.rate * burst_s)
        self.level = self.burst
        self.at: float | None = None

    def take(self, amount: float, now: float) -> float:
        """Take ``amount`` and return how long to wait until it was there; callers are served in order."""
        if not self.rate:
            return 0.0
        if self.at is not None:
            self.level = min(self.burst, self.level + (now - self.at) * self.rate)
        self.at = now
        self.level -= amount
        return max(0.0, -self.level / self.rate)


class Meter:
    """What a backend asks before it sends, and tells after.

    Args:
        limits: of the user; checked before each sending.
        requests_per_minute, tokens_per_minute: of the model's configuration, for all processes.
        price_in, price_out: dollars per million tokens, where replies carry no cost.
        spend: adds to the run's total over all processes; by default this process alone counts.
        tell: told (kind, text) when a request will be sent again (``retry``) and when a limit a minute holds one back for
            ``LONG_S`` seconds or more (``waiting``), not more often than that.
    """

    def __init__(
        self,
        limits: Limits = NO_LIMITS,
        *,
        requests_per_minute: float = 0.0,
        tokens_per_minute: float = 0.0,
        price_in: float = 0.0,
        price_out: float = 0.0,
        spend: Spend | None = None,
        tell: Callable[[str, str], None] | None = None,
    ) -> None:
        self.limits = limits
        self.prices = (price_in, price_out)
        self.tell = tell or (lambda kind, text: None)
        self._requests = Bucket(requests_per_minute * limits.share)
        self._tokens = Bucket(tokens_per_minute * limits.share)
        self._spend = spend or self._own
        self._total = (0, 0.0)
        self._paused_until = self._told_at = 0.0

    async def before_send(self, tokens: int = 0) -> None:
        """Wait until one more request of about ``tokens`` may go out, and count it.

        Raises:
            StopSending: ``max_cost_usd`` or ``max_requests`` is reached.
        """
        self._check()
        now = time.monotonic()
        wait = max(self._requests.take(1, now), self._tokens.take(tokens, now))
        if wait >= LONG_S and now - self._told_at >= LONG_S:
            self._told_at = now
            self.tell("waiting", f"the declared limit a minute holds requests back, the next one for {wait:.0f} s")
        while wait > 0 or self._paused_until > time.monotonic():
            await asyncio.sleep(max(wait, self._paused_until - time.monotonic()))
            wait = 0.0
        if self.limits.max_requests is not None or self.limits.max_cost_usd is not None:
            self._check()
            sent, cost = self._spend(1, 0.0)
            if self.limits.max_requests is not None and sent > self.limits.max_requests:
                self._total = self._spend(-1, 0.0)
                raise StopSending(self._message("--max-requests", f"{self.limits.max_requests}"))
            self._total = (sent, cost)

    def after_reply(self, usage: Usage, tokens: int = 0) -> Usage:
        """Count a reply; returns its usage with the cost filled in from the prices where it had none."""
        if usage.cost_usd is None and any(self.prices) and usage.tokens_in is not None:
            cost = (usage.tokens_in * self.prices[0] + (usage.tokens_out or 0) * self.prices[1]) / 1e6
            usage = Usage(usage.tokens_in, usage.tokens_cached, usage.tokens_out, usage.tokens_reasoning, cost)
        used = (usage.tokens_in or 0) + (usage.tokens_out or 0)
        if used > tokens:  # what the estimate missed is owed by those who come next
            self._tokens.take(used - tokens, time.monotonic())
        if self.limits.max_cost_usd is not None and usage.cost_usd:
            self._total = self._spend(0, usage.cost_usd)
        return usage

    def pause(self, seconds: float) -> None:
        """The service asked everybody to wait."""
        self._paused_until = max(self._paused_until, time.monotonic() + seconds)

    def _check(self) -> None:
        if self.limits.max_requests is not None and self._total[0] >= self.limits.max_requests:
            raise StopSending(self._message("--max-requests", f"{self.limits.max_requests}"))
        if self.limits.max_cost_usd is not None:
            self._total = self._spend(0, 0.0)
            if self._total[1] >= self.limits.max_cost_usd:
                raise StopSending(self._message("--max-cost", f"{self.limits.max_cost_usd:g} USD"))

    def _message(self, option: str, value: str) -> str:
        return (f"{option} {value} is reached after {self._total[0]} requests and {self._total[1]:.4f} USD; "
                "every reply so far is kept: run again with a higher limit to go on")

    def _own(self, requests: int, cost: float) -> tuple[int, float]:
        self._total = (self._total[0] + requests, self._total[1] + cost)
        return self._total


def usage(said: Any) -> Usage:
    """Token counts of a reply in either naming (prompt/completion, input/output); None where the service is silent."""
    said = _object(said)
    into = _object(said.get("prompt_tokens_details") or said.get("input_tokens_details"))
    out = _object(said.get("completion_tokens_details") or said.get("output_tokens_details"))
    cost = said.get("cost")
    return Usage(
        tokens_in=_count(said.get("prompt_tokens", said.get("input_tokens"))),
        tokens_cached=_count(into.get("cached_tokens")),
        tokens_out=_count(said.get("completion_tokens", said.get("output_tokens"))),
        tokens_reasoning=_count(out.get("reasoning_tokens")),
        cost_usd=float(cost) if _possible(cost) else None,
    )


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    return int(value) if _possible(value) else None


def _possible(value: Any) -> bool:
    """Whether a value can be what was used: a NaN in a sum would put off every limit, and a negative one would move it."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < sys.maxsize
