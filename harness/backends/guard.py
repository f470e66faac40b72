"""Runs a command as long as whoever started this lives: ``python guard.py COMMAND ARGUMENT...``, stdin a pipe.

The pipe closes when the starter closes it or dies, however it dies (kill -9 included). Then the command's whole process
group is ended, at first politely. Should this guard itself be killed, Linux ends the command. A script by itself: it
imports nothing of the package, so that it starts at once in any interpreter.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time

GRACE_S = 8.0
_PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the group, and whatever of it outlives its leader."""
    for sign, wait in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, 2.0)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, sign)
        until = time.monotonic() + wait
        while time.monotonic() < until:
            child.poll()
            if not _group_lives(child.pid):
                return
            time.sleep(0.05)


def main(argv: list[str]) -> int:
    for sign in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(sign, lambda *_: sys.exit(143))
    try:
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=_die_with_parent)
    except OSError as e:
        print(f"{argv[0]}: {e.strerror}", flush=True)
        return 127
    try:
        while child.poll() is None:
            readable, _, _ = select.select([sys.stdin.fileno()], [], [], 0.2)
            if readable and not os.read(sys.stdin.fileno(), 4096):
                return 0
        return child.returncode if child.returncode >= 0 else 128 - child.returncode
    finally:
        _end(child)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
