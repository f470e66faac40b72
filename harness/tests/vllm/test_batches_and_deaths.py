"""A batch that vLLM itself works off, a server that is killed in mid-run, and speed against a bare client."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import deque
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from harness.backends.chat import Chat
from harness.backends.vllm import serve
from harness.build import Asked, Selection, expand, family
from harness.dispatch import Asker
from harness.prompts import compose
from harness.spec import load_all
from harness.store import Store
from harness.tests.plugin.session import ROOT, environment, session
from harness.tests.vllm.served import COMPACT, PICO, PYTHON, SMOLLM2, config, entry, folder

GOLD = ("--spec", "gold-main", "--limit", "1", "--views", "table_nm,table_ev")
N = 22


def isoprobe(path, *args):
    done = subprocess.run([sys.executable, "-m", "harness", *args], cwd=path, env=environment(), capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_batch_goes_through_vllm_and_back_and_a_session_reads_it_from_the_store(tmp_path):
    model = entry(PICO, "json_choice", sampling={"max_tokens": 60})
    path = folder(tmp_path / "p", {"m": model, "other": model | {"base_url": "http://127.0.0.1:9/v1"}})
    said = isoprobe(path, "export", "gold-main", "--model", "m", *GOLD[2:], "out.jsonl")
    assert f"{N} requests written" in said
    env = environment(**model["options"]["env"], VLLM_NO_USAGE_STATS="1")
    done = subprocess.run(
        [PYTHON, "-m", "vllm.entrypoints.openai.run_batch", "-i", "out.jsonl", "-o", "results.jsonl", "--model", PICO,
         "--dtype", "bfloat16", "--enforce-eager", "--structured-outputs-config", COMPACT],
        cwd=path, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    said = isoprobe(path, "import", "results.jsonl", "--model", "m", "--keys", "out.jsonl.keys")
    assert f"{N} replies stored, 0 errors, 0 requests without a line" in said
    # the same weights at an address where nobody listens: what is read can only come from the store
    read = session(path, *GOLD, "--model", "other", timeout=300)
    assert read.status == 0, read.text
    assert [row["notes"].get("from_store") for row in read.rows().values()] == [True] * N


def worker_of(log: Path) -> int:
    """The process id of the API server, from its log."""
    line = next(line for line in log.read_text("utf-8", "replace").splitlines() if "APIServer pid=" in line)
    return int(line.partition("APIServer pid=")[2].partition(")")[0])


def test_a_server_killed_in_mid_run_is_a_clear_error_and_the_next_run_completes(tmp_path):
    model = entry(PICO, "json_choice", in_flight=2, sampling={"max_tokens": 60}, max_tries=3)
    path = folder(tmp_path / "p", {"m": model})
    more = ("--spec", "gold-main", "--limit", "6", "--views", "table_nm,table_ev")  # enough that it is still busy then
    args = [sys.executable, "-m", "pytest", "-q", *more, "--model", "m", "-n", "0", "--run-id", "r"]
    run = subprocess.Popen(args, cwd=path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    rows, until = path / "reports" / "r" / "outcomes.jsonl", time.monotonic() + 300
    while not (rows.exists() and rows.read_text().count("\n") >= 3) and time.monotonic() < until:
        time.sleep(0.05)
    os.kill(worker_of(next(rows.parent.glob("vllm-*.log"))), signal.SIGKILL)
    text, _ = run.communicate(timeout=120)
    kept, n = rows.read_text().count("\n"), len((rows.parent / "keys.txt").read_text().split())
    assert (run.returncode != 0, 3 <= kept < n) == (True, True), text
    assert "nothing answers at http://127.0.0.1:" in text
    assert "ended by itself with status" in text
    again = session(path, *more, "--model", "m", "-n", "0", timeout=600)
    assert (again.status, len(again.rows()), {r["status"] for r in again.rows().values()} <= {"usable", "truncated"}) == (
        0, n, True), again.text
    assert sum(bool(r["notes"].get("from_store")) for r in again.rows().values()) >= 3


@pytest.fixture
def server(tmp_path):
    # every prompt is evaluated in full, whoever asks
    model = config("m", entry(SMOLLM2, "option_letters", "--no-enable-prefix-caching", "--max-model-len", "4096",
                              dtype="float32"))
    running = serve(model, tmp_path)
    yield replace(model, base_url=running.base_url)
    running.stop()


async def bare(config, requests) -> int:
    """Tokens of the prompts of ``requests``, by nothing but an HTTP client and a semaphore."""
    backend, slots = Chat(config), asyncio.Semaphore(config.in_flight)

    async def one(client, request):
        async with slots:
            reply = await client.post(backend.url(request), json=backend.body(request))
            return reply.json()["usage"]["prompt_tokens"]

    async with httpx.AsyncClient(timeout=None) as client:
        return sum(await asyncio.gather(*(one(client, r) for r in requests)))


def ours(config, requests, store) -> int:
    by_key = {r.key: r for r in requests}
    waiting = deque(by_key)
    asker = Asker({"m": config}, store, by_key.__getitem__, compose, lambda: tuple(waiting))
    tokens = 0
    while waiting:
        tokens += asker.ask(waiting.popleft()).responses[0].usage.tokens_in
    asker.close()
    return tokens


def test_a_real_server_is_kept_as_busy_as_by_a_bare_client(server, tmp_path):
    spec, = load_all(ROOT, ["metasurface-main"])
    keys = list(expand([spec], [Asked("m", False)], Selection(limit=1)))[:16]
    requests = [family(spec).build(k, Asked("m", False, "option_letters")) for k in keys]
    asyncio.run(bare(server, requests[:4]))  # warm
    rates = {"bare": 0.0, "ours": 0.0}
    for turn in range(2):  # the better of two turns each, in turn: other work on the machine hits either
        started = time.perf_counter()
        tokens = asyncio.run(bare(server, requests))
        rates["bare"] = max(rates["bare"], tokens / (time.perf_counter() - started))
        with Store(tmp_path / f"replies-{turn}") as store:
            started = time.perf_counter()
            assert ours(server, requests, store) == tokens
            rates["ours"] = max(rates["ours"], tokens / (time.perf_counter() - started))
    assert rates["ours"] / rates["bare"] >= 0.95, rates
