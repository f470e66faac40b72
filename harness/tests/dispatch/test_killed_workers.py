"""kill -9 of any process of a whole session, at random moments: the next session asks for what is missing, no more."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.tests.dispatch.project import chat_project
from harness.tests.fault_server import FaultServer
from harness.tests.plugin.session import environment, session

ROUNDS, IN_FLIGHT, WORKERS, N = 9, 8, 2, 48
ITEMS = ("--spec", "metasurface-main", "--limit", "1", "--model", "m", "-n", str(WORKERS), "--run-id", "r")


def children(pid: int) -> list[int]:
    """Of any of its threads."""
    return [int(n) for f in Path(f"/proc/{pid}/task").glob("*/children") for n in f.read_text().split()]


def settled(server: FaultServer) -> int:
    """How many requests came, once the workers of a killed controller have noticed and gone."""
    came = -1
    while came != sum(server.received.values()):
        came = sum(server.received.values())
        time.sleep(1.0)
    return came


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_sessions_whose_controllers_workers_or_couriers_are_killed_lose_nothing_and_send_nothing_twice(tmp_path):
    moments = random.Random(3)
    kills = 0
    with FaultServer(latency_s=0.1) as server:
        path = chat_project(tmp_path / "p", server.url, in_flight=IN_FLIGHT)
        for turn in range(ROUNDS):
            begun = settled(server)
            run = subprocess.Popen([sys.executable, "-m", "pytest", "-q", *ITEMS], cwd=path, env=environment(),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            until = time.monotonic() + 60
            while run.poll() is None and sum(server.received.values()) == begun and time.monotonic() < until:
                time.sleep(0.01)
            time.sleep(moments.uniform(0.0, 0.15))
            if run.poll() is None:
                workers = children(run.pid)
                couriers = [c for w in workers for c in children(w)]
                os.kill(moments.choice([[run.pid], workers, couriers][turn % 3] or [run.pid]), signal.SIGKILL)
                kills += 1
            run.wait(120)
        last = session(path, *ITEMS)
        assert (last.status, len(last.rows())) == (0, N), last.text
        assert set(server.answered) == set(server.received)
        assert sum(server.received.values()) - len(server.received) <= kills * IN_FLIGHT
    calm = FaultServer()
    with calm:
        other = session(chat_project(tmp_path / "calm", calm.url), *ITEMS)
    assert {k: r["choice"] for k, r in last.rows().items()} == {k: r["choice"] for k, r in other.rows().items()}
