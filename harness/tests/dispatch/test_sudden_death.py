"""kill -9 at any moment: nothing lost, nothing sent twice beyond what was in flight unanswered."""

import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from harness.store import Store
from harness.tests import fault_server
from harness.tests.stored import counts

ITEMS, IN_FLIGHT = 120, 8
RUN = f"""
import sys
from pathlib import Path
from harness.backends.config import ModelConfig
from harness.dispatch import Asker
from harness.store import Store
from harness.tests.asking import compose, key, request
url, path, first = sys.argv[1], sys.argv[2], int(sys.argv[3])
keys = [key(i) for i in range(first, {ITEMS})]
at = 0
config = ModelConfig("m", "chat", model="m", base_url=url, in_flight={IN_FLIGHT}, options={{"backoff_s": [0.01, 0.05]}})
with Store(Path(path)) as store:
    asker = Asker({{"m": config}}, store, lambda k: request("json_choice", at=k), compose,
                  lambda: map(keys.__getitem__, range(at, len(keys))))
    for at, k in enumerate(keys):
        print(k.instance, asker.ask(k).responses[0].text, flush=True)
    asker.close()
"""


@pytest.fixture
def server():
    process = subprocess.Popen(
        [sys.executable, fault_server.__file__, json.dumps({"latency_s": 0.03})], stdout=subprocess.PIPE, text=True
    )
    yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
    process.kill()


def start(server, path, first=0):
    return subprocess.Popen(
        [sys.executable, "-c", RUN, server + "/v1", str(path), str(first)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
    )


def stats(server):
    with urllib.request.urlopen(server + "/stats") as reply:
        return json.load(reply)


@pytest.mark.slow
def test_a_run_killed_again_and_again_ends_like_an_undisturbed_one(server, tmp_path):
    rounds = random.Random(5)
    path = tmp_path / "replies"
    kills = 0
    for _ in range(20):
        run = start(server, path)
        begun = sum(stats(server)["received"].values())
        until = time.monotonic() + 10
        while run.poll() is None and sum(stats(server)["received"].values()) == begun and time.monotonic() < until:
            time.sleep(0.01)  # the kill shall fall into the asking, not into the start of the interpreter
        time.sleep(rounds.uniform(0.0, 0.06))
        kills += run.poll() is None
        run.send_signal(signal.SIGKILL)
        run.wait(10)
        time.sleep(0.05)
    last = start(server, path)
    said = last.communicate(timeout=60)[0].splitlines()
    assert last.returncode == 0
    received = stats(server)["received"]
    with Store(path, readonly=True) as store:
        kept = counts(store)
    fresh = start(server, tmp_path / "fresh").communicate(timeout=60)[0].splitlines()
    assert said == fresh
    assert kept == {"answered": ITEMS, "replies": ITEMS, "failed": 0, "claims": 0}
    assert len(received) == ITEMS
    assert sum(received.values()) - ITEMS <= kills * IN_FLIGHT


@pytest.mark.slow
def test_two_runs_at_once_on_one_store_send_nothing_twice(server, tmp_path):
    runs = [start(server, tmp_path / "replies"), start(server, tmp_path / "replies", ITEMS // 2)]
    said = [run.communicate(timeout=60)[0].splitlines() for run in runs]
    assert said[0][ITEMS // 2 :] == said[1]
    assert set(stats(server)["received"].values()) == {1}
