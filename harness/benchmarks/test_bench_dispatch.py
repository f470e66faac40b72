"""How fast requests get through, as ratios within one run: against a bare client, a sequential loop, and an empty store.

The server is a process of its own on loopback that takes 100 ms for every reply. Ideal is items x 0.1 s / in flight.
"""

from __future__ import annotations

import json
import os
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
from harness.tests.plugin.session import ROOT, environment

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


BARE = """
import asyncio, sys, time
from harness.backends.pool import Address, Pool

async def main(url, items):
    pool, to, left = Pool(), Address.of(url + "/v1/chat/completions"), list(range(items))
    async def worker():
        while left:
            body = b'{"model": "m", "messages": [{"role": "user", "content": "bare %d"}]}' % left.pop()
            assert (await pool.post(to, body, bytes)).status == 200
    started = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(64)))
    print(time.perf_counter() - started)

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


def bare_s(url: str) -> float:
    """Seconds that a loop of 64 tasks takes which does nothing but send and receive."""
    done = subprocess.run([sys.executable, "-c", BARE, url, str(ITEMS)], capture_output=True, text=True, check=True,
                          cwd=ROOT, env=environment())
    return float(done.stdout)


def test_64_in_flight_reach_85_percent_of_a_bare_client(server, tmp_path, benchmark):
    bare = bare_s(server)
    took = benchmark.pedantic(ask_all, (server, tmp_path / "replies", ITEMS, 64), rounds=1)
    benchmark.extra_info.update(of_bare=bare / took, of_ideal=ITEMS * LATENCY_S / 64 / took)
    print(json.dumps(benchmark.extra_info))
    assert bare / took >= 0.85


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
            store.claim_many([str(n)])
            store.put_many([(str(n), "item", Response(text="x" * 500))])
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
def test_a_whole_session_reaches_85_percent_of_a_bare_client(tmp_path, workers, record_property):
    """Of what a bare asyncio client reaches with the same server in the same run, pytest's items and all included.

    Two workers, what sends for each, the controller and the server share the cores with pytest-xdist, whose empty tests
    alone take both of two cores as long as the server's ideal: with fewer than four the numbers are printed, not judged.
    """
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "pytest.ini").write_text("[pytest]\n")
    times = []
    for items in (1, ITEMS):  # what a session costs before its first test is not the dispatch's
        (plain / "test_plain.py").write_text(PLAIN.format(items=items))
        times.append(session_s(plain, "-n", str(workers), "--dist", "worksteal" if workers else "no"))
    with served(latency_s=LATENCY_S) as url:
        bare = bare_s(url)
    with served(latency_s=LATENCY_S) as url:
        path = chat_project(tmp_path / "p", url)
        session_s(path, "--spec", "metasurface-main", "--limit", "37", "--repeat", "2", "--model", "m", "-n", str(workers))
        with urllib.request.urlopen(url + "/stats") as reply:
            stats = json.load(reply)
    assert sum(stats["answered"].values()) == ITEMS
    ideal, took = ITEMS * LATENCY_S / 64, stats["span_s"]
    figures = {"workers": workers, "ideal_s": ideal, "bare_s": bare, "empty_tests_s": times[1] - times[0], "took_s": took,
               "of_ideal": ideal / took, "of_bare": bare / took}
    record_property("figures", figures)
    print(json.dumps({k: round(v, 3) for k, v in figures.items()}))
    assert ITEMS * LATENCY_S / took >= 20
    if workers and len(os.sched_getaffinity(0)) < 4:
        pytest.skip(f"{workers} workers need four cores; here {ideal / took:.0%} of the ideal rate")
    assert bare / took >= 0.85
