"""A line now and then on long runs: done, per second, tries, tokens, cost so far and projected, time left; and where
nothing ends for long, what is waited for."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

import pytest

EVERY_S = 15.0
QUIET_S = 30.0
"""Nothing finished for so long is worth a line; the next one comes after twice as long."""
RECENT = 4
"""Speed and cost a request are those since this many lines ago: stored replies and a fast model come first in many
runs, and the mean since the start would promise their speed for all that is left."""


class Progress:
    """Counts rows on the controller and writes a line at most every ``EVERY_S`` seconds.

    Args:
        total: requests of the run.
        waiting: says what is waited for, "" for nothing known; called on a thread of its own.
    """

    def __init__(self, config: pytest.Config, total: int, waiting: Callable[[], str] = str):
        self.total, self.done, self.retries, self.lost = total, 0, 0, 0
        self.tokens, self.cost = 0, 0.0
        self.waiting, self.quiet_s = waiting, QUIET_S
        self.shown = self.finished = time.monotonic()
        self.marks = deque([(self.shown, 0, 0.0)], maxlen=RECENT)  # time, requests and dollars at the last lines
        self.terminal = config.pluginmanager.get_plugin("terminalreporter")
        self.ended = threading.Event()
        if self.terminal is not None:
            threading.Thread(target=self._watch, name="isoprobe-progress", daemon=True).start()

    def saw(self, word: str, tries: int, tokens: int, cost: float) -> None:
        """Count one finished request; tokens and cost are those of this run, 0 for a stored reply."""
        self.done += 1
        self.retries += max(0, tries - 1)
        self.lost += word not in ("right", "wrong", "abstained", "usable")
        self.tokens += tokens
        self.cost += cost
        now = self.finished = time.monotonic()
        self.quiet_s = QUIET_S
        if now - self.shown >= EVERY_S:
            self.shown = now
            self.write(self.line(now))
            self.marks.append((now, self.done, self.cost))

    def line(self, now: float) -> str:
        """``412 of 3,552 requests, 6.1 a second, 3 retries, ..., 8 min 32 s left``."""
        since, done, cost = self.marks[0]
        recent, left = self.done - done, self.total - self.done  # at least one: a line is written when a request is done
        rate = recent / (now - since)
        parts = [f"{self.done:,} of {self.total:,} requests", f"{rate:.1f} a second"]
        if self.retries:
            parts.append(f"{self.retries:,} retries")
        if self.lost:
            parts.append(f"{self.lost:,} unusable replies")
        if self.tokens:
            parts.append(f"{self.tokens:,} tokens")
        if self.cost:
            parts.append(f"${self.cost:.3f} so far, about ${self.cost + (self.cost - cost) / recent * left:.3f} in all")
        parts.append(f"{int(left / rate // 60)} min {int(left / rate % 60)} s left")
        return ", ".join(parts)

    def quiet(self, now: float) -> str:
        """``nothing finished for 45 s; luna: 429 Too Many Requests; again in 840.0 s``, or "" while replies come."""
        seconds = now - self.finished
        if seconds < self.quiet_s or self.done >= self.total:
            return ""
        self.quiet_s = 2 * seconds
        return "; ".join(filter(None, (f"nothing finished for {seconds:.0f} s", self.waiting())))

    def _watch(self) -> None:
        while not self.ended.wait(1.0):
            if line := self.quiet(time.monotonic()):
                self.write(line)

    def write(self, line: str) -> None:
        if self.terminal is not None:
            self.terminal.ensure_newline()
            self.terminal.write_line(line)

    def close(self) -> None:
        """Writes no more lines."""
        self.ended.set()
