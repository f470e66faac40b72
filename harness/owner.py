"""Who holds a claim, and whether they are still alive: processes by host, boot, id and start time."""

from __future__ import annotations

import hashlib
import os
import platform
from functools import cache
from pathlib import Path


@cache
def this_host() -> str:
    """This machine since its last boot, and this process-id namespace: only here do process ids mean the same."""
    parts = (platform.node(), _read("/proc/sys/kernel/random/boot_id"))
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    return hashlib.sha256("\0".join((*parts, namespace)).encode()).hexdigest()[:32]


def started_at(pid: int) -> str | None:
    """When a process started, in clock ticks since boot; "" where the system does not say; None when there is none."""
    if not os.path.isdir("/proc/self"):
        return ""
    stat = _read(f"/proc/{pid}/stat")
    after_name = stat.rpartition(")")[2].split()
    if len(after_name) < 20 or after_name[0] in ("Z", "X"):  # a killed child that nobody has waited for is dead
        return None
    return after_name[19]


def process_alive(pid: int, started: str) -> bool:
    """Whether the process that had ``pid`` and that start time still runs (ids are used again)."""
    now = started_at(pid)
    if now is None:
        return False
    if now == "" or started == "":
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True
    return now == started


def _read(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""
