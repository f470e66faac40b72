"""Every reply once: claims, appended replies, and what a killed process leaves behind."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest

from harness.classify import reply_status, succeeded
from harness.errors import StoreError
from harness.owner import process_alive
from harness.probe import Response, Usage
from harness.store import Store, decode, encode, store_key
from harness.tests.asking import PNG, key, request
from harness.tests.stored import claim, content, counts, images, put

GOOD = Response(text="A", usage=Usage(1, None, 2, None, 0.5), option_scores={"A": 0.5}, extra={"x": [1]}, tries=2)
BAD = Response(error="500", finish_reason="error")


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "replies.sqlite") as opened:
        yield opened


@pytest.fixture
def other(store):
    with Store(store.path) as opened:
        yield opened


@pytest.mark.parametrize(
    "response",
    [
        GOOD,
        BAD,
        Response(),
        Response(text="\x00\x1b[31m</script>\ud800 é" + "x" * 100_000),
        Response(choice="A", label_mass=0.5),
    ],
)
def test_a_reply_comes_back_as_it_went_in(response):
    assert decode(encode(response)) == response


def test_a_request_is_claimed_once_answered_once_and_then_there(store):
    assert claim(store, "r").state == "mine"
    put(store, "r", "item", GOOD)
    assert claim(store, "r") == claim(store, "r")
    assert (claim(store, "r").state, store.get("r")) == ("done", GOOD)


def test_another_living_process_gets_no_claim_on_it(store, other):
    claim(store, "r")
    assert claim(other, "r").state == "theirs"
    put(store, "r", "item", GOOD)
    assert claim(other, "r").response == GOOD


def test_a_released_claim_is_free(store, other):
    claim(store, "r")
    store.release(["r"])
    assert claim(other, "r").state == "mine"


def test_closing_gives_up_every_claim(store, other):
    claim(other, "r")
    other.close()
    assert claim(store, "r").state == "mine"


@pytest.mark.parametrize(
    "response, ok",
    [
        (BAD, False),
        (Response(), False),
        (Response(text="x", error="e"), False),
        (Response(text="\n  "), False),
        (Response(text="half an ans", finish_reason="content_filter"), False),
        (Response(text="<think>hm</think>\n"), False),
        (Response(text="<think>hm</think>\n", finish_reason="length"), True),
        (GOOD, True),
        (Response(choice="A"), True),
        (Response(finish_reason="length"), True),
        (Response(extra={"refusal": True}), True),
    ],
)
def test_errors_and_empty_replies_are_no_answers(response, ok):
    assert (succeeded(response), reply_status(response) != "provider_error") == (ok, ok)


def test_a_failed_reply_is_kept_and_asked_again(store):
    claim(store, "r")
    put(store, "r", "item", BAD)
    assert store.get("r") is None
    assert claim(store, "r").state == "mine"
    assert store.attempts("r") == [BAD]


def test_the_last_successful_reply_counts(store):
    for response in (GOOD, BAD, replace(GOOD, text="B"), BAD):
        put(store, "r", "item", response)
    assert store.get("r").text == "B"
    assert len(store.attempts("r")) == 4


def test_replies_are_found_by_item_for_a_replay(store):
    put(store, "forward", "item", GOOD)
    put(store, "reversed", "item", replace(GOOD, text="B"))
    put(store, "forward", "item", BAD)
    assert [(k, r.text) for k, r in store.by_item("item")] == [("forward", "A"), ("reversed", "B")]


def test_a_readonly_store_reads_and_does_not_write(store):
    put(store, "r", "item", GOOD)
    with Store(store.path, readonly=True) as reader:
        assert reader.get("r") == GOOD
        with pytest.raises(StoreError):
            put(reader, "s", "item", GOOD)


def test_what_was_asked_is_kept_with_each_image_once(store):
    asked = [request(image=PNG, at=key(n)) for n in range(3)]
    for one in asked:
        store.put_many([], [one])
    assert images(store) == {asked[0].images[0].sha256: PNG}
    assert content(store, asked[1].sha256) == asked[1].content()
    assert PNG.hex() not in str(content(store, asked[1].sha256))


def test_free_replies_are_written_in_batches_and_read_at_once(store, other):
    store.put_free("r", "item", GOOD)
    assert (store.get("r"), other.get("r")) == (GOOD, None)
    store.flush()
    assert other.get("r") == GOOD


def test_a_free_reply_that_another_process_wrote_first_is_not_doubled(store, other):
    store.put_free("r", "item", GOOD)
    other.put_free("r", "item", GOOD)
    other.flush()
    store.flush()
    assert counts(store)["replies"] == 1


@pytest.mark.parametrize(
    "change",
    [
        {"prompt": "other"},
        {"question": "other"},
        {"system": "s"},
        {"sampling": {"temperature": 1}},
        {"readout": "json_choice"},
        {"answer": {"space": "integer"}},
    ],
)
def test_everything_in_the_request_is_in_its_key(change):
    base = request()
    assert store_key(replace(base, **change), "id") != store_key(base, "id")


def test_image_bytes_option_order_repeat_and_model_are_in_the_key():
    base = request(image=PNG)
    keys = {
        store_key(base, "id"),
        store_key(request(image=PNG + b"x"), "id"),
        store_key(replace(base, options=base.options[::-1]), "id"),
        store_key(replace(base, key=key(repeat=1)), "id"),
        store_key(base, "other"),
        store_key(base, "id", "more"),
    }
    assert len(keys) == 6


def test_the_item_and_the_truth_are_not_in_the_key():
    base = request(at=key(3))
    assert store_key(replace(base, key=key(3, view="other")), "id") == store_key(base, "id")


def test_a_file_that_is_no_store_says_what_to_do(tmp_path):
    path = tmp_path / "x"
    path.write_text("not a database at all, but long enough to be looked at " * 50)
    with pytest.raises(StoreError, match="name another with --store"):
        Store(path)


def test_a_store_of_a_newer_version_is_refused(store):
    path = store.path
    store.close()
    sqlite3.connect(path).execute("PRAGMA user_version = 99").connection.close()
    with pytest.raises(StoreError, match="newer isoprobe"):
        Store(path)


def test_spending_adds_up_over_processes(store, other):
    store.spend("run", 2, 0.5)
    assert other.spend("run", 1, 0.25) == (3, 0.75)


def test_threads_share_one_connection(store):
    def work(n):
        for i in range(50):
            claim(store, f"{n}-{i}")
            put(store, f"{n}-{i}", "item", GOOD)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert counts(store) == {"answered": 200, "replies": 200, "failed": 0, "claims": 0}


# -- several processes, and their sudden death -------------------------------------------------------------------------

WORKER = """
import sys, time
from pathlib import Path
from harness.probe import Response
from harness.store import Store
from harness.tests.stored import claim, put
path, name, count, pause = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
store = Store(Path(path))
log = open(f"{path}.{name}", "a", buffering=1)
for i in range(count):
    if claim(store, f"r{i}").state == "mine":
        log.write(f"sent {i}\\n")
        time.sleep(pause)
        put(store, f"r{i}", "item", Response(text=name))
        log.write(f"kept {i}\\n")
if pause > 1: time.sleep(60)
store.close()
"""


def worker(path, name, count=200, pause=0.0):
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(path), name, str(count), str(pause)],
        cwd=os.getcwd(),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def lines(path, word):
    out = []
    for file in path.parent.glob(path.name + ".*"):
        if file.suffix[1:].isalnum() and not file.name.endswith(("-wal", "-shm")):
            out += [int(line.split()[1]) for line in file.read_text().splitlines() if line.startswith(word)]
    return out


def test_processes_at_once_send_each_request_once(tmp_path):
    path = tmp_path / "s"
    workers = [worker(path, f"w{n}") for n in range(3)]
    assert [w.wait(60) for w in workers] == [0, 0, 0]
    assert sorted(lines(path, "sent")) == list(range(200))
    with Store(path) as store:
        assert counts(store) == {"answered": 200, "replies": 200, "failed": 0, "claims": 0}


def test_a_killed_process_loses_nothing_it_had_kept_and_its_claim_is_free_at_once(tmp_path):
    path = tmp_path / "s"
    for n in range(6):
        one = worker(path, f"w{n}", pause=0.004)
        time.sleep(0.35 + 0.07 * n)
        one.send_signal(signal.SIGKILL)
        one.wait(10)
    assert worker(path, "last").wait(60) == 0
    kept, sent = lines(path, "kept"), lines(path, "sent")
    with Store(path) as store:
        assert counts(store)["answered"] == 200
        assert counts(store)["claims"] == 0
        assert all(store.get(f"r{i}") for i in kept)
    assert len(sent) - 200 <= 6  # at most what each was sending when it was killed


def test_a_frozen_but_living_process_keeps_its_claim(tmp_path):
    path = tmp_path / "s"
    one = worker(path, "w0", count=1, pause=30)
    try:
        until = time.monotonic() + 20
        while not lines(path, "sent") and time.monotonic() < until:
            time.sleep(0.05)
        one.send_signal(signal.SIGSTOP)
        with Store(path) as store:
            assert claim(store, "r0").state == "theirs"
            one.send_signal(signal.SIGKILL)
            one.wait(10)
            assert claim(store, "r0").state == "mine"
    finally:
        one.kill()


def test_a_process_id_that_was_used_again_is_another_process():
    assert process_alive(os.getpid(), "1") is False


@pytest.mark.parametrize("returns", ["with a beat", "with a claim"])
def test_an_owner_elsewhere_that_was_only_suspended_holds_what_it_claims_when_it_is_back(store, other, returns):
    store._host = "another host"  # as a container has it, whose process ids say nothing here
    claim(store, "r1")
    other._db.execute("UPDATE owner SET beat = beat - 3600")
    assert claim(other, "r1").state == "mine"
    if returns == "with a beat":
        store.beat()
    assert (claim(store, "r2").state, claim(other, "r2").state) == ("mine", "theirs")


def test_an_owner_elsewhere_counts_by_its_heartbeat(store):
    db = sqlite3.connect(store.path)
    for name, beat in (("fresh", time.time()), ("stale", time.time() - 3600)):
        db.execute("INSERT INTO owner VALUES (?, 'another host', 1, '1', ?)", (name, beat))
        db.execute("INSERT INTO claim VALUES (?, ?)", (f"r-{name}", name))
    db.commit()
    assert [claim(store, f"r-{name}").state for name in ("fresh", "stale")] == ["theirs", "mine"]
