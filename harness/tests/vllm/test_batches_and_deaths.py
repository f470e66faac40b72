"""A batch that vLLM itself works off, and a server that is killed in mid-run."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from harness.tests.plugin.session import environment, session
from harness.tests.vllm.served import COMPACT, PICO, PYTHON, entry, folder

GOLD = ("--spec", "gold-main", "--limit", "1", "--views", "table_nm,table_ev")
N = 22


def isoprobe(path, *args):
    done = subprocess.run([sys.executable, "-m", "harness", *args], cwd=path, env=environment(), capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_batch_goes_through_vllm_and_back_and_a_session_reads_it_from_the_store(tmp_path):
    model = entry(PICO, "json_choice", sampling={"max_tokens": 60})
    path = folder(tmp_path / "p", {"m": model})
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
    read = session(path, *GOLD, "--model", "m", timeout=300)
    assert (read.status, "no server is started" in read.text) == (0, True), read.text
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
