"""Requests are sent from a process of their own: it hands out each reply once, and never outlives the items' process."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from harness.backends.meter import NO_LIMITS, Limits
from harness.build import Asked, Builder, Selection, family
from harness.courier import Courier, Job
from harness.errors import FatalError, KeyLookupError, StopSending
from harness.spec import load_all
from harness.tests.dispatch.project import chat_project
from harness.tests.dispatch.test_asker import http
from harness.tests.fault_server import FaultServer
from harness.tests.plugin.session import ROOT, environment, session

SPECS = {s.name: s for s in load_all(ROOT, ["gold-scope"])}


def keys(n):
    found = family(SPECS["gold-scope"]).keys(Selection(views=("table_nm",)))
    return [replace(k, model="m") for k, _ in zip(found, range(n), strict=False)]


class Items:
    """What the plugin does: asks keys in order, and knows which come next."""

    def __init__(self, server, tmp_path, n, limits=NO_LIMITS, builder=Builder, **config):
        self.keys, self.at, self.events = keys(n), 0, []
        models = {"m": http(server, readout="json_choice", **config)}
        self.courier = Courier(Job(models, builder(SPECS, models), tmp_path / "replies.sqlite", limits, "r"),
                               lambda: self.keys[self.at + 1 :], self.events.append)

    def ask(self, key):
        self.at = self.keys.index(key) if key in self.keys else self.at
        return self.courier.ask(None, key)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.courier.close(5.0)
        assert self.courier._process.returncode == 0


def test_every_item_gets_its_own_request_and_reply_also_out_of_order_and_again(tmp_path):
    with FaultServer() as server, Items(server, tmp_path, 40) as items:
        order = [*items.keys[20:], *items.keys[:20], items.keys[3]]
        for key in order:
            asked = items.ask(key)
            built = family(SPECS["gold-scope"]).build(key, Asked("m", readout="json_choice"))
            assert (asked.request, asked.request.truth, asked.request.sha256) == (built, built.truth, built.sha256)
            assert [request for request, _ in asked.replies] == [built]
            assert asked.responses[0].text
        assert set(server.received.values()) == {1}
        assert asked.from_store


def test_upcoming_items_are_under_way_while_this_process_does_something_else(tmp_path):
    with FaultServer(latency_s=0.05) as server, Items(server, tmp_path, 30, in_flight=8) as items:
        items.ask(items.keys[0])
        until = time.monotonic() + 20
        while sum(server.answered.values()) < 24 and time.monotonic() < until:
            time.sleep(0.05)  # nothing is asked here
        assert (sum(server.answered.values()) >= 24, server.most_in_flight) == (True, 8)


def test_errors_arrive_as_what_they_are(tmp_path):
    with (FaultServer(status=401) as server, Items(server, tmp_path, 3) as items,
          pytest.raises(FatalError, match="the key is missing or wrong")):
        items.ask(items.keys[0])
    with (FaultServer() as server, Items(server, tmp_path / "b", 9, Limits(max_requests=2)) as items,
          pytest.raises(StopSending, match="--max-requests 2")):
        [items.ask(k) for k in items.keys]
    with FaultServer() as server, Items(server, tmp_path / "c", 1) as items:
        with pytest.raises(KeyLookupError, match="no instance"):
            items.ask(replace(items.keys[0], instance="nobody"))
        assert items.ask(items.keys[0]).responses[0].text


def test_a_change_of_provider_is_told_here(tmp_path):
    with FaultServer(provider="A") as server, Items(server, tmp_path, 6, in_flight=1) as items:
        items.ask(items.keys[0])
        server.provider = "B"
        for key in items.keys[1:]:
            items.ask(key)
        assert [e.kind for e in items.events] == ["changed"]


def test_a_courier_that_is_killed_stops_the_items_with_a_word_and_loses_nothing(tmp_path):
    with FaultServer() as server:
        items = Items(server, tmp_path, 20)
        items.ask(items.keys[0])
        os.kill(items.courier._process.pid, signal.SIGKILL)
        with pytest.raises(FatalError, match=r"has ended \(status -9\); every reply so far is kept"):
            [items.ask(k) for k in items.keys[1:] * 20]
        items.courier.close(0.0)
        with Items(server, tmp_path, 20) as again:
            assert [bool(again.ask(k).responses[0].text) for k in again.keys] == [True] * 20
        assert len(server.received) == 20


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_no_courier_outlives_its_session(tmp_path, how):
    with FaultServer(latency_s=0.3) as server:
        path = chat_project(tmp_path / "p", server.url, in_flight=4)
        command = [sys.executable, "-m", "pytest", "-q", "--spec", "gold-scope", "--model", "m", "-n", "0"]
        run = subprocess.Popen(command, cwd=path, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        until = time.monotonic() + 60
        while not server.received and time.monotonic() < until:
            time.sleep(0.02)
        courier, = [int(n) for f in Path(f"/proc/{run.pid}/task").glob("*/children") for n in f.read_text().split()]
        run.send_signal(how)
        run.wait(60)
        until = time.monotonic() + 20
        while Path(f"/proc/{courier}").exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert not Path(f"/proc/{courier}").exists()


class Slow(Builder):
    """Takes two seconds a request, and says when it has begun."""

    def __call__(self, key):
        Path(os.environ["BUILDING"]).touch()
        time.sleep(2)
        return super().__call__(key)

    def __reduce__(self):
        return Slow, (self.specs, self.models)


def test_no_courier_outlives_a_session_that_dies_while_a_request_is_built(tmp_path, monkeypatch):
    begun = tmp_path / "begun"
    monkeypatch.setenv("BUILDING", str(begun))
    with FaultServer() as server:
        items = Items(server, tmp_path, 3, builder=Slow)
        try:
            items.courier._tell(("now", items.keys[:1]))
            until = time.monotonic() + 20
            while not begun.exists() and time.monotonic() < until:
                time.sleep(0.02)
            assert begun.exists()
            items.courier._out.close()  # as the end of its process does
            assert items.courier._process.wait(20) == 0
        finally:
            items.courier.close(0.0)


def test_a_session_of_a_local_and_a_served_model_asks_each_in_its_place(tmp_path):
    with FaultServer() as server:
        path = chat_project(tmp_path / "p", server.url)
        with (path / "specs" / "models.yaml").open("a") as file:
            file.write("  oracle: {backend: oracle}\n")
        ran = session(path, "--spec", "gold-scope", "--limit", "1", "--views", "table_nm", "--model", "oracle",
                      "--model", "m", "-n", "0")
        assert ran.status == 0, ran.text
        models = [row["model"] for row in ran.rows().values()]
        assert (models.count("oracle"), models.count("m"), sum(server.received.values())) == (3, 3, 3)
