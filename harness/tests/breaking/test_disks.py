"""Disks and folders that fail in mid-run: one clear message, no traceback, and the next session goes on."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.errors import RunError, StoreError
from harness.probe import Response
from harness.report.run import OutcomeLog, replace_file
from harness.store import Store
from harness.tests.dispatch.project import chat_project
from harness.tests.fault_server import FaultServer
from harness.tests.plugin.session import UNMEASURED, environment, project, session
from harness.tests.stored import claim, put

GOLD = ("--spec", "gold-main", "--limit", "1", "--views", "table_nm", "--model", "coin")
N = 8
FULL = Path("/dev/full")
POSIX = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


def limited(folder: Path, bytes_a_file: int, *args: str) -> tuple[int, str]:
    """A session in which no file can grow beyond a size: what a full disk looks like to a process."""
    import resource

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--no-figures", "--run-id", "r", "-p", "no:cacheprovider", "-n", "0", *args],
        cwd=folder, env=environment(**UNMEASURED), capture_output=True, text=True, timeout=240,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_a_file, bytes_a_file)))
    return done.returncode, done.stdout + done.stderr


@POSIX
@pytest.mark.parametrize("size, message", [
    (400, "keys.txt: cannot be written (File too large); is the folder writable and the disk not full?"),
    (16_000, "replies.sqlite: cannot be used as the store of replies (disk I/O error)"),
])
def test_a_full_disk_ends_the_session_with_one_message_and_no_traceback(tmp_path, size, message):
    folder = project(tmp_path / "p")
    status, text = limited(folder, size, *GOLD)
    assert message in text
    assert (True, False, False) == (status not in (0, 1), "Traceback" in text, "INTERNALERROR" in text), text
    again = session(folder, *GOLD, "-n", "0")
    assert (0, N) == (again.status, len(again.rows())), again.text


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_outcomes_that_cannot_be_written_are_a_run_error(tmp_path):
    (tmp_path / "outcomes.jsonl").symlink_to(FULL)
    log = OutcomeLog(tmp_path)
    with pytest.raises(RunError, match=r"outcomes.jsonl: cannot be written \(No space left on device\)"):
        log.append_json("x" * 100_000)


@POSIX
def test_outcomes_that_cannot_be_written_end_a_session_with_one_message(tmp_path):
    folder = project(tmp_path / "p", conftest="""
import os
os.makedirs("reports/r")
os.symlink("/dev/full", "reports/r/outcomes.jsonl")
""")
    done = session(folder, *GOLD, "-n", "0")
    assert "outcomes.jsonl: cannot be written (No space left on device); is the disk full?" in done.text
    assert (3, False, False) == (done.status, "Traceback" in done.text, "INTERNALERROR" in done.text), done.text


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_a_report_that_cannot_be_written_names_the_file_and_leaves_no_rest(tmp_path):
    (tmp_path / f".report.md.{os.getpid()}.part").symlink_to(FULL)
    with pytest.raises(RunError, match=r"report.md: cannot be written \(No space left on device\)"):
        replace_file(tmp_path / "report.md", b"x" * 10_000)
    assert [] == list(tmp_path.iterdir())


def test_a_reports_folder_that_cannot_be_made_is_named_before_anything_is_asked(tmp_path):
    folder = project(tmp_path / "p")
    (folder / "reports").write_text("a file")
    done = session(folder, *GOLD, "-n", "0")
    assert "keys.txt: cannot be written (Not a directory); is the folder writable" in done.text
    assert (4, False) == (done.status, (folder / ".isoprobe").exists()), done.text


@POSIX
def test_a_read_only_reports_folder_is_named_before_anything_is_asked(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    folder = project(tmp_path / "p")
    (folder / "reports").mkdir(mode=0o500)
    done = session(folder, *GOLD, "-n", "0")
    assert "cannot be written (Permission denied); is the folder writable" in done.text
    assert 4 == done.status, done.text


def test_names_with_spaces_and_other_scripts_are_no_trouble(tmp_path):
    folder = project(tmp_path / "Größe 数据 a b")
    done = session(folder, *GOLD, "-n", "0", "--store", "мой store.sqlite", "--reports", "mes résultats")
    assert (0, True) == (done.status, (folder / "mes résultats" / "r" / "report.html").exists()), done.text
    assert (folder / "мой store.sqlite").exists()


def test_a_spec_with_windows_line_ends_asks_what_it_asked_before(tmp_path):
    from harness.build import Asked, Selection, family
    from harness.spec import load

    source = Path(__file__).parents[3] / "specs" / "invariance" / "gold-main.yaml"
    (tmp_path / "gold-main.yaml").write_bytes(source.read_bytes().replace(b"\n", b"\r\n"))
    built = [family(load(path)) for path in (source, tmp_path / "gold-main.yaml")]
    key = next(iter(built[0].keys(Selection())))
    assert built[0].build(key, Asked("m")).sha256 == built[1].build(key, Asked("m")).sha256
    assert built[0].spec.sha256 == built[1].spec.sha256


def test_a_run_folder_deleted_in_mid_run_is_said_and_the_next_session_sends_nothing_twice(tmp_path):
    test = '''
import pytest, shutil

@pytest.mark.probes(suite="invariance")
def test_decision(probe):
    probe.ask()
    if "compare-000/orig" in str(probe.key):
        shutil.rmtree("reports/r", ignore_errors=True)
'''
    args = ("--spec", "gold-main", "--limit", "1", "--views", "table_nm", "--model", "m", "-n", "0")
    with FaultServer() as server:
        folder = project(chat_project(tmp_path / "p", server.url), test)
        first = session(folder, *args)
        assert (3, True) == (first.status, "no report: " in first.text and "is not a run folder" in first.text), first.text
        assert "Traceback" not in first.text
        again = session(project(folder), *args)
        assert (0, N, N) == (again.status, len(again.rows()), sum(server.received.values())), again.text


def of_folder(folder: Path) -> list[str]:
    """Processes that run in a folder."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            if (place / "cwd").resolve() == folder and (place / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z":
                found.append(place.name)
    return found


@POSIX
@pytest.mark.parametrize("workers, to", [("0", os.kill), ("0", os.killpg), ("2", os.kill), ("2", os.killpg)],
                         ids=["one process", "its group", "the controller of two workers", "the group of two workers"])
def test_sigterm_leaves_a_valid_run_that_the_next_session_completes(tmp_path, workers, to):
    """What a continuous integration sends when a job is cancelled or runs out of its time. No process stays behind."""
    args = ("--spec", "gold-main", "--limit", "1", "--views", "table_nm", "--model", "m", "-n", workers, "--run-id", "r")
    with FaultServer(latency_s=0.3) as server:
        folder = chat_project(tmp_path / "p", server.url, in_flight=int(workers) or 1)
        run = subprocess.Popen([sys.executable, "-m", "pytest", "-q", "--no-figures", *args], cwd=folder, env=environment(),
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        until = time.monotonic() + 60
        while sum(server.received.values()) < 4 and run.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        to(run.pid, signal.SIGTERM)
        text, _ = run.communicate(timeout=60)
        assert run.returncode != 0, text
        until = time.monotonic() + 30
        while of_folder(folder) and time.monotonic() < until:
            time.sleep(0.1)
        assert [] == of_folder(folder)
        again = session(folder, *args)
        assert (0, N) == (again.status, len(again.rows())), again.text
        assert sum(server.received.values()) <= N + (int(workers) or 1)  # what was under way when it was killed


def test_two_sessions_at_once_on_one_store_and_folder_send_each_request_once(tmp_path):
    args = ("--spec", "gold-main", "--limit", "1", "--views", "table_nm", "--model", "m", "-n", "0")
    with FaultServer(latency_s=0.05) as server:
        folder = chat_project(tmp_path / "p", server.url)
        command = [sys.executable, "-m", "pytest", "-q", "--no-figures", *args, "--run-id"]
        runs = [subprocess.Popen([*command, name], cwd=folder, env=environment(), stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True) for name in ("a", "b")]
        texts = [run.communicate(timeout=200)[0] for run in runs]
        assert [0, 0] == [run.returncode for run in runs], texts
        assert N == sum(server.received.values())
    a, b = ({line.split('"key":"')[1].split('"')[0] for line in (folder / "reports" / n / "outcomes.jsonl").read_text()
             .splitlines()} for n in ("a", "b"))
    assert (N, a) == (len(a), b)


def test_a_clock_that_goes_backwards_neither_frees_a_claim_nor_loses_a_reply(tmp_path, monkeypatch):
    path = tmp_path / "replies.sqlite"
    with Store(path) as one, Store(path) as two:
        assert "mine" == claim(one, "r").state
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now - 86_400)
        one.beat()
        assert "theirs" == claim(two, "r").state
        put(one, "r", "item", Response("first"))
        monkeypatch.setattr(time, "time", lambda: now - 2 * 86_400)
        put(one, "r", "item", Response("second"))
        assert "second" == two.get("r").text


def test_an_owner_elsewhere_whose_clock_is_ahead_keeps_its_claim(tmp_path, monkeypatch):
    path = tmp_path / "replies.sqlite"
    with Store(path) as one, Store(path) as two:
        monkeypatch.setattr(one, "_host", "another machine")
        real = time.time
        monkeypatch.setattr(time, "time", lambda: real() + 3_600)
        assert "mine" == claim(one, "r").state
        monkeypatch.setattr(time, "time", real)
        assert "theirs" == claim(two, "r").state


@pytest.mark.parametrize("at, size", [(0, 100), (100, 3_000), (4_096, 10**6), (8_192, 4_096), (20_000, 10**6)])
@pytest.mark.parametrize("use", [lambda s: [s.get(f"r{i}") for i in range(200)], lambda s: s.attempts("r1"),
                                 lambda s: s.by_item("item7"), lambda s: claim(s, "new"),
                                 lambda s: put(s, "new", "item", Response("y"))],
                         ids=["get", "attempts", "by_item", "claim", "put"])
def test_a_damaged_store_raises_nothing_but_store_errors(tmp_path, at, size, use):
    path = tmp_path / "replies.sqlite"
    with Store(path) as store:
        for i in range(200):
            put(store, f"r{i}", f"item{i}", Response("x" * 200))
    data = bytearray(path.read_bytes())
    end = min(len(data), at + size)
    data[at:end] = b"\x55" * (end - at)
    path.write_bytes(data)
    for rest in tmp_path.glob("replies.sqlite-*"):
        rest.unlink()
    with contextlib.suppress(StoreError), Store(path) as store:
        use(store)


def test_a_folder_in_the_place_of_the_store_is_a_store_error(tmp_path):
    (tmp_path / "replies.sqlite").mkdir()
    with pytest.raises(StoreError, match="cannot be used as the store of replies"):
        Store(tmp_path / "replies.sqlite")


def test_a_file_in_the_place_of_the_stores_folder_is_a_store_error(tmp_path):
    (tmp_path / "state").write_text("a file")
    with pytest.raises(StoreError, match="cannot be used as the store of replies"):
        Store(tmp_path / "state" / "replies.sqlite")


def test_a_store_deleted_in_mid_run_loses_no_reply_of_the_running_process(tmp_path):
    path = tmp_path / "state" / "replies.sqlite"
    with Store(path) as store:
        put(store, "r", "item", Response("kept"))
        if sys.platform == "win32":
            pytest.skip("an open file cannot be deleted here")
        shutil.rmtree(path.parent)
        assert "kept" == store.get("r").text
