"""Whole sessions: however they are run, they give the same outcomes; whoever dies, nothing shrinks."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.adaptation.base import find
from harness.backends.config import ModelConfig
from harness.plugin.recorder import settings
from harness.tests.fault_server import FaultServer
from harness.tests.plugin.session import ROOT, UNMEASURED, Session, environment, interruptible, project, session

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


def test_a_run_with_an_adapter_is_replayed_without_it(tmp_path):
    folder = project(tmp_path / "p")
    adapter = folder / ".isoprobe" / "adapters" / "arm" / "0"
    adapter.mkdir(parents=True)
    (adapter / "run.json").write_text(json.dumps({"arm": {"name": "arm"}, "seed": 0, "base": "pico",
                                                  "fingerprint": find("pico", folder).fingerprint}))
    (adapter / "adapter_config.json").write_text(json.dumps({"r": 1, "lora_alpha": 1}))
    (adapter / "adapter_model.safetensors").write_bytes(b"\2\0\0\0\0\0\0\0{}")  # changes no weight
    asked = session(folder, "--spec", "gold-scope", "--limit", "1", "--views", "table_nm", "--model", "pico",
                    "--adapter", "arm/0")
    assert {row["model"] for row in asked.rows().values()} == {"pico+arm/0"}, asked.text
    shutil.rmtree(adapter)
    again = session(folder, "--replay", "r", "--run-id", "again")
    assert (again.status, again.results("again")) == (0, asked.results()), again.text


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


def test_a_dry_run_asks_nothing_when_it_is_told_to_use_workers(tmp_path):
    dry = session(project(tmp_path / "p"), "--spec", "gold-main", "--limit", "1", "--model", "coin", "--dry-run", "-n", "2")
    assert (dry.status, "nothing was asked" in dry.text) == (0, True), dry.text
    assert not (dry.folder / "reports").exists()
    assert not (dry.folder / ".isoprobe").exists()


def test_a_run_completed_by_a_narrower_session_keeps_what_it_lost_and_all_that_it_asked(tmp_path):
    folder = project(tmp_path / "p", conftest="""
import os, pytest
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    if "suff-000/full/table_nm" in item.nodeid and os.path.exists("fragile"):
        pytest.exit("broken off", 3)
""")
    (folder / "fragile").touch()
    broken = session(folder, *GOLD, "--model", "coin", "-n", "0")
    lost = N - len(broken.rows())
    (folder / "fragile").unlink()
    narrow = session(folder, "--spec", "gold-main", "--limit", "1", "--views", "table_nm", "-k", "threshold", "--model",
                     "coin", "--model", "oracle", "-n", "0")
    about = json.loads((narrow.run() / "run.json").read_text())
    keys = (narrow.run() / "keys.txt").read_text().splitlines()
    assert (narrow.status, lost > 0, len(keys)) == (0, True, N + 2), narrow.text
    assert (list(about["models"]), about["selection"]["views"]) == (["coin", "oracle"], None)
    assert f"{lost} of {N + 2} requests have no reply and are lost" in (narrow.run() / "report.md").read_text()


def test_a_run_is_not_completed_with_another_version_of_its_spec(tmp_path):
    folder = project(tmp_path / "p")
    spec = folder / "mine.yaml"
    spec.write_text((ROOT / "specs" / "invariance" / "gold-main.yaml").read_text())
    args = ("--spec", str(spec), "--limit", "1", "--views", "table_nm", "--model", "coin", "-n", "0")
    first = session(folder, *args)
    before = (first.run() / "keys.txt").read_bytes()
    spec.write_text(spec.read_text().replace("\nversion: 1\n", "\nversion: 2\n"))
    second = session(folder, *args)
    assert (first.status, second.status) == (0, pytest.ExitCode.USAGE_ERROR), first.text + second.text
    assert "this run asked another version of spec 'gold-main'" in second.text
    assert (first.run() / "keys.txt").read_bytes() == before


class Fickle(FaultServer):
    """Another provider answers from the fourth request on."""

    @property
    def provider(self):
        return "P" if sum(self.answered.values()) < 4 else "Q"

    @provider.setter
    def provider(self, name):
        pass


@pytest.mark.parametrize("workers", ["0", "2"])
def test_what_happened_to_requests_is_kept_and_a_change_of_provider_is_told_at_the_end(tmp_path, workers):
    with Fickle(fault_rate=0.3, faults=("429",)) as server:
        asked = session(project(tmp_path / "p"), *GOLD, "--model", f"chat:m@{server.url}/v1", "-n", workers)
    kinds = {json.loads(line)["kind"] for line in (asked.run() / "events.jsonl").read_text().splitlines()}
    assert (asked.status, kinds) == (0, {"retry", "changed"}), asked.text
    assert "/v1: served by Q / served, before by P / served" in asked.text


def test_no_secret_of_a_server_is_recorded():
    args = ["--dtype", "float32", "--api-key", "sk-1", "--hf-token=hf_2", "--max-tokens", "5"]
    config = ModelConfig("m", "vllm", options={"env": {"HF_TOKEN": "hf_secret", "A": "1"}, "args": args})
    hidden = ["--dtype", "float32", "--api-key", "(not shown)", "--hf-token=(not shown)", "--max-tokens", "5"]
    assert settings(config, Path("/x"))["options"] == {"env": ["A", "HF_TOKEN"], "args": hidden}


def test_annotations_for_github_begin_their_line(tmp_path):
    gated = session(project(tmp_path / "p"), *GOLD, "--model", "coin", "--gate", "oracle", "-n", "0", GITHUB_ACTIONS="true")
    lines = [line for line in gated.text.splitlines() if "::error" in line]
    assert [line.startswith("::error title=") for line in lines] == [True] * len(lines) != [], gated.text


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


def test_the_oracle_needs_no_network(tmp_path):
    folder = project(tmp_path / "p", conftest="""
import socket, pytest
def closed_to_the_network(true):
    def connect(self, address):
        if self.family != socket.AF_UNIX:
            raise OSError(f"no network here, not to {address}")
        return true(self, address)
    return connect
def look_up(host, *more, **options):
    raise OSError(f"no network here, not to look up {host}")
for name in ("connect", "connect_ex"):
    setattr(socket.socket, name, closed_to_the_network(getattr(socket.socket, name)))
socket.getaddrinfo = look_up
@pytest.fixture(autouse=True)
def nothing_gets_out():
    for ask in (lambda: socket.socket().connect(("127.0.0.1", 9)), lambda: socket.create_connection(("a.invalid", 9))):
        with pytest.raises(OSError, match="no network here"):
            ask()
""")
    done = session(folder, *GOLD, "--model", "oracle", "-n", "0")
    rows = done.rows().values()
    assert (done.status, len(rows), {row["correct"] for row in rows}) == (0, N, {True}), done.text


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
