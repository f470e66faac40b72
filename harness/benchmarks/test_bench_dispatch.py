"""How fast requests get through, as ratios within one run: against the ideal, a sequential loop, and an empty store.

The server is a process of its own on loopback that takes 100 ms for every reply. Ideal is items x 0.1 s / in flight.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness import classify
from harness.backends.config import ModelConfig
from harness.backends.meter import Limits
from harness.dispatch import Asker
from harness.probe import Response
from harness.readouts.permute import read
from harness.store import Store
from harness.tests.asking import VIEW, compose, key, request
from harness.tests.dispatch.project import chat_project, served
from harness.tests.plugin.session import environment

LATENCY_S = 0.1
ITEMS = 3552


@pytest.fixture(scope="module")
def server():
    with served(latency_s=LATENCY_S) as url:
        yield url


def build(k):
    return request("json_choice", at=k)


def ask_all(url: str, path: Path | None, items: int, in_flight: int, share: float = 1.0, first: int = 0) -> float:
    """Seconds to ask, read and classify ``items`` items."""
    config = ModelConfig("m", "chat", model="m", base_url=url + "/v1", in_flight=in_flight)
    keys = [key(first + n) for n in range(items)]
    at = 0
    store = Store(path) if path else None
    asker = Asker({"m": config}, store, build, compose, lambda: map(keys.__getitem__, range(at, items)),
                  Limits(share=share))
    started = time.perf_counter()
    for k in keys:
        at += 1  # the look-ahead above reads it
        asked = asker.ask(k)
        row = classify.outcome(asked.request, asked.responses, read(asked.replies), dataset="d", view=VIEW)
        assert row.status == "usable"
    took = time.perf_counter() - started
    asker.close()
    if store:
        store.close()
    return took


def test_64_in_flight_reach_85_percent_of_the_ideal_rate(server, tmp_path, benchmark):
    took = benchmark.pedantic(ask_all, (server, tmp_path / "replies", ITEMS, 64), rounds=1)
    ideal = ITEMS * LATENCY_S / 64
    benchmark.extra_info["share_of_ideal"] = ideal / took
    assert ideal / took >= 0.85


HALF = """
import sys
from pathlib import Path
from harness.benchmarks.test_bench_dispatch import ask_all
print(ask_all(sys.argv[1], Path(sys.argv[2]), {items}, 64, 0.5, int(sys.argv[3])), flush=True)
"""


def test_two_processes_with_32_each_reach_85_percent_of_the_ideal_rate(server, tmp_path):
    def half(first: int) -> float:
        out = subprocess.run([sys.executable, "-c", HALF.format(items=ITEMS // 2), server, str(tmp_path / "replies"),
                              str(first)], capture_output=True, text=True, check=True, cwd=Path.cwd())
        return float(out.stdout)

    with ThreadPoolExecutor(2) as pool:
        took = max(pool.map(half, (0, ITEMS // 2)))
    assert ITEMS * LATENCY_S / 64 / took >= 0.85


def test_look_ahead_is_20_times_a_sequential_loop(server, tmp_path):
    sequential = ask_all(server, tmp_path / "a", 20, 1) / 20
    ahead = ask_all(server, tmp_path / "b", 1280, 64) / 1280
    assert sequential / ahead >= 20


def test_a_resumed_run_takes_less_than_a_fifth_of_the_time_of_asking(server, tmp_path):
    asked = ask_all(server, tmp_path / "replies", 500, 16)
    assert asked / ask_all(server, tmp_path / "replies", 500, 16) >= 5


def test_a_commit_a_reply_stays_below_a_hundredth_of_a_replys_latency(tmp_path):
    with Store(tmp_path / "replies") as store:
        started = time.perf_counter()
        for n in range(1000):
            store.claim(str(n))
            store.put(str(n), "item", Response(text="x" * 500))
        assert (time.perf_counter() - started) / 1000 < LATENCY_S / 100


PLAIN = """
import pytest
@pytest.mark.parametrize("key", [f"spec/task/instance-{{i:04d}}/variant/table/plain/0/m" for i in range({items})])
def test_nothing(key): pass
"""


def session_s(folder: Path, *args: str) -> float:
    """Seconds that ``pytest`` needs in a folder, start to end."""
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", *args], cwd=folder, env=environment(),
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    return time.perf_counter() - started


@pytest.mark.parametrize("workers", [0, 2])
def test_a_whole_session_reaches_85_percent_of_what_the_server_and_pytest_allow(tmp_path, workers, record_property):
    """Of the server's latency, or of the time that pytest itself needs for as many empty tests on this machine."""
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "pytest.ini").write_text("[pytest]\n")
    times = []
    for items in (1, ITEMS):  # what a session costs before its first test is not the dispatch's
        (plain / "test_plain.py").write_text(PLAIN.format(items=items))
        times.append(session_s(plain, "-n", str(workers), "--dist", "worksteal" if workers else "no"))
    with served(latency_s=LATENCY_S) as url:
        path = chat_project(tmp_path / "p", url)
        session_s(path, "--spec", "metasurface-main", "--limit", "37", "--repeat", "2", "--model", "m", "-n", str(workers))
        with urllib.request.urlopen(url + "/stats") as reply:
            stats = json.load(reply)
    assert sum(stats["answered"].values()) == ITEMS
    bound = max(ITEMS * LATENCY_S / 64, times[1] - times[0])
    record_property("seconds", {"bound": bound, "took": stats["span_s"], "pytest": times[1] - times[0]})
    assert ITEMS * LATENCY_S / stats["span_s"] >= 20
    assert bound / stats["span_s"] >= 0.85, (bound, stats["span_s"])
