"""Runs one command and says what it took: wall time, CPU time, and the most memory its processes held together (Linux)."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Taken:
    """``status`` is None when it was stopped for time; ``started`` is on the monotonic clock; memory in bytes."""

    status: int | None
    started: float
    wall_s: float
    cpu_s: float
    peak: int
    text: str


def tree(pid: int) -> list[int]:
    """The process and its descendants, threads' children included."""
    found, queue = [], [pid]
    while queue:
        found.append(queue.pop())
        for children in Path(f"/proc/{found[-1]}/task").glob("*/children"):
            try:
                queue += map(int, children.read_text().split())
            except OSError:
                continue
    return found


def resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


def take(command: Sequence[str], log: Path, env: Mapping[str, str], cwd: Path, limit_s: float) -> Taken:
    """Runs ``command`` to its end, its output into ``log``; CPU time holds that of its children."""
    peak, done = 0, threading.Event()

    def watch(pid: int) -> None:
        nonlocal peak
        while not done.wait(0.1):
            peak = max(peak, sum(map(resident, tree(pid))))

    with log.open("wb") as out:
        before, started = os.times(), time.monotonic()
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=env, cwd=cwd)
        watcher = threading.Thread(target=watch, args=(process.pid,), daemon=True)
        watcher.start()
        try:
            status: int | None = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            for pid in reversed(tree(process.pid)):
                os.kill(pid, 9)
            process.wait()
            status = None
        wall, after = time.monotonic() - started, os.times()
    done.set()
    watcher.join()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Taken(status, started, wall, cpu, peak, log.read_text("utf-8", "replace"))
