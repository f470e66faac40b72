"""Whole sessions: however they are run, they give the same outcomes; whoever dies, nothing shrinks."""

import json
import signal
import subprocess
import sys
import time

import pytest

from harness.tests.plugin.session import UNMEASURED, Session, environment, interruptible, project, session

GOLD = ("--spec", "gold-main", "--limit", "1", "--views", "table_nm,table_ev")
N = 22  # requests of GOLD: 2 views x (2 threshold + 4 compare + 2 sufficiency) core, and 6 energy-worded on the eV table


@pytest.fixture(scope="module")
def serial(tmp_path_factory) -> Session:
    return session(project(tmp_path_factory.mktemp("serial")), *GOLD, "--model", "coin", "-n", "0")


def test_one_item_is_one_request_and_a_wrong_answer_is_no_failure(serial):
    words = {row["correct"] for row in serial.rows().values()}
    assert (serial.status, len(serial.rows()), words) == (0, N, {True, False})


def test_the_summary_says_what_came_of_the_requests_in_words(serial):
    right = sum(row["correct"] for row in serial.rows().values())
    assert f"coin: {N} requests; {right} right ({100 * right / N:.1f} %)" in serial.text


def test_rows_have_the_columns_that_tables_join_on(serial):
    row = next(iter(serial.rows().values()))
    assert {"key", "spec", "task", "instance", "variant", "view", "model", "status", "choice", "expected",
            "correct"} <= set(row)


@pytest.mark.parametrize("args", [("-n", "2"), ("-n", "2", "--dist", "loadgroup"), ("-p", "no:xdist"),
                                  ("-n", "1", "-p", "no:cacheprovider")], ids=" ".join)
def test_workers_and_schedulers_change_no_outcome_and_no_table(serial, tmp_path, args):
    other = session(project(tmp_path / "p"), *GOLD, "--model", "coin", *args, PYTHONHASHSEED="77")
    strip = {"latency_s", "notes"}
    assert other.status == 0, other.text
    assert {k: {c: v for c, v in r.items() if c not in strip} for k, r in other.rows().items()} == {
        k: {c: v for c, v in r.items() if c not in strip} for k, r in serial.rows().items()}
    assert other.results() == serial.results()


def test_a_worker_that_dies_makes_its_request_lost_never_a_smaller_n(tmp_path):
    conftest = """
import os, pytest
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    if "suff-000/full/table_nm" in item.nodeid and not os.path.exists("spared"):
        os._exit(9)
"""
    folder = project(tmp_path / "p", conftest=conftest)
    crashed = session(folder, *GOLD, "--model", "coin", "-n", "2")
    assert crashed.status != 0
    assert (len(crashed.rows()), "1 lost (4.5 %)" in crashed.text) == (N - 1, True), crashed.text
    (folder / "spared").touch()
    completed = session(folder, *GOLD, "--model", "coin", "-n", "2")
    assert (completed.status, len(completed.rows()), "lost" in completed.text) == (0, N, False), completed.text


def test_ctrl_c_leaves_a_valid_run_that_the_next_one_completes(tmp_path):
    folder = project(tmp_path / "p", conftest="""
import time, pytest
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    time.sleep(0.2)
""")
    args = [sys.executable, "-m", "pytest", "-q", *GOLD, "--model", "coin", "--run-id", "r"]
    process = subprocess.Popen(args, cwd=folder, env=environment(), stdout=subprocess.PIPE, text=True,
                               preexec_fn=interruptible)
    log = folder / "reports" / "r" / "outcomes.jsonl"
    for _ in range(600):
        if log.exists() and log.read_text().count("\n") >= 5:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    text, _ = process.communicate(timeout=60)
    partial = Session(process.returncode, text, folder)
    assert (partial.status, 5 <= len(partial.rows()) < N) == (2, True)
    assert "## Results" in (partial.run() / "report.md").read_text()
    (folder / "conftest.py").write_text('pytest_plugins = ["harness.plugin"]\n')
    completed = session(folder, *GOLD, "--model", "coin")
    assert (completed.status, len(completed.rows())) == (0, N)
    assert sum(row["notes"].get("from_store", False) for row in completed.rows().values()) >= 5


def test_a_replay_needs_no_model_and_gives_the_same_results(serial):
    again = session(serial.folder, "--replay", "r", "--run-id", "again")
    assert (again.status, again.results("again")) == (0, serial.results())


def test_a_failed_gate_makes_the_exit_status_1_and_says_why(serial, tmp_path):
    folder = project(tmp_path / "p")
    gated = session(folder, *GOLD, "--model", "coin", "--gate", "oracle")
    assert (gated.status, "FAIL every answer is right" in gated.text) == (1, True)


def test_an_unknown_gate_profile_is_named_before_anything_is_asked(tmp_path):
    wrong = session(project(tmp_path / "p"), *GOLD, "--model", "coin", "--gate", "smok")
    assert wrong.status == pytest.ExitCode.USAGE_ERROR
    assert "--gate: 'smok' is not a profile of" in wrong.text
    assert not (wrong.folder / "reports").exists()


@pytest.mark.parametrize("args, message", [
    (("--spec", "gold-mian"), "'gold-mian' is not a spec; did you mean 'gold-main'?"),
    (("--spec", "gold-main", "--views", "plot_nmm"), "'plot_nmm' is not a view of the selected specs; did you mean"),
    (("--spec", "gold-main", "--model", "oracel"), "model 'oracel' is not declared in specs/models.yaml; did you mean"),
    (("--limit", "0",), "--limit: '0' is not a count; give 1 or more"),
    (("--repeat", "two",), "--repeat: 'two' is not a count; give 1 or more"),
    (("--shard", "3/2",), "--shard: '3/2' is not a shard; the form is 2/8"),
    (("--run-id", "../x"), "--run-id '../x': letters, digits"),
], ids=lambda v: v[-1] if isinstance(v, tuple) else "")
def test_a_wrong_option_is_one_usage_error(tmp_path, args, message):
    wrong = session(project(tmp_path / "p"), *args)
    assert (wrong.status, message in wrong.text) == (pytest.ExitCode.USAGE_ERROR, True), wrong.text


def test_a_dry_run_counts_and_asks_nothing(tmp_path):
    dry = session(project(tmp_path / "p"), "--spec", "gold-main", "--limit", "1", "--model", "coin", "--dry-run")
    line = next(line for line in dry.text.splitlines() if line.startswith("coin"))
    assert (dry.status, line.split()[:4]) == (0, ["coin", "gold-main", "60", "22"])
    assert not (dry.folder / "reports").exists()
    assert not (dry.folder / ".isoprobe").exists()


def test_the_oracle_fails_an_item_whose_evidence_does_not_bear_its_key(tmp_path):
    conftest = """
import dataclasses, pytest
from harness.build import SpectraFamily
true_build = SpectraFamily.build
def lie(self, key, model):
    request = true_build(self, key, model)
    other = next(o.key for o in request.options if o.key != request.truth.expected)
    truth = dataclasses.replace(request.truth, expected=other)
    return dataclasses.replace(request, truth=truth)
SpectraFamily.build = lie
"""
    folder = project(tmp_path / "p", conftest=conftest)
    found = session(folder, "--spec", "gold-main", "--limit", "1", "--views", "table_nm", "--model", "oracle")
    assert (found.status, "this request is not answerable as keyed" in found.text) == (1, True)


def test_the_plugin_is_inert_where_no_probe_is_collected(tmp_path):
    folder = project(tmp_path / "p", test="""
import sys
def test_nothing_heavy_is_loaded():
    assert {"numpy", "matplotlib", "httpx", "sqlite3", "torch", "yaml"} & set(sys.modules) == set()
""")
    quiet = session(folder, **UNMEASURED)
    assert (quiet.status, (folder / "reports").exists(), "isoprobe" in quiet.text) == (0, False, False), quiet.text


def test_another_test_whose_name_looks_like_a_key_is_none_of_the_plugin(tmp_path):
    folder = project(tmp_path / "p", test="""
import pytest
@pytest.mark.parametrize("text", ["a/b/c/d/e/f/g/h", "gold-mian/compare/c-000/x/table_nm/plain/0/m", "a/b/c/d/e/f/0/oracle"])
def test_it(text):
    pass
""")
    quiet = session(folder, "-n", "2")
    assert (quiet.status, (folder / "reports").exists(), "isoprobe" in quiet.text) == (0, False, False), quiet.text


def test_many_wrong_answers_do_not_slow_the_end_of_a_session(tmp_path):
    """pytest's own summary of failures is quadratic; 2,000 wrong answers must add nothing to it."""
    folder = project(tmp_path / "p")
    done = session(folder, "--spec", "gold-scope", "--model", "coin", "--repeat", "2", "--views", "table_nm,table_ev")
    wrong = sum(row["correct"] is False for row in done.rows().values())
    assert (done.status, wrong > 300, "FAILED" in done.text) == (0, True, False)


def test_outcome_rows_are_builtins_that_json_returns_unchanged(serial):
    for row in serial.rows().values():
        assert json.loads(json.dumps(row)) == row
