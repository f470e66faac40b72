"""Other plugins and switches of pytest change no outcome. A plugin that is not installed here is skipped.

Sessions leave out the plugins of ``OTHERS``; the tests here ask for one with ``-p NAME``.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from harness.tests.plugin.session import UNMEASURED, Session, environment, project, session

GOLD = ("--spec", "gold-main", "--limit", "1", "--views", "table_nm", "--model", "coin")
N = 8


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> Session:
    return session(project(tmp_path_factory.mktemp("plain")), *GOLD, "-n", "0")


def choices(done: Session) -> dict[str, str]:
    return {key: row["choice"] for key, row in done.rows().items()}


def installed(name: str) -> None:
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name.replace('_', '-')} is not installed")


@pytest.mark.parametrize("args", [("--import-mode=prepend",), ("--import-mode=append",), ("--import-mode=importlib",),
                                  ("-p", "no:cacheprovider"), ("-p", "no:xdist", "-p", "no:faulthandler")], ids=" ".join)
def test_switches_of_pytest_change_nothing(plain, tmp_path, args):
    serial = () if "no:xdist" in args else ("-n", "0")
    done = session(project(tmp_path / "p"), *GOLD, *serial, *args)
    assert (0, choices(plain), plain.results()) == (done.status, choices(done), done.results()), done.text


def test_a_session_without_a_terminal_leaves_the_same_run(plain, tmp_path):
    """``-q`` belongs to the plugin of the terminal, so pytest itself refuses it here."""
    folder = project(tmp_path / "p")
    command = [sys.executable, "-m", "pytest", "-p", "no:terminal", "-n", "0", *GOLD, "--run-id", "r"]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=240)
    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)
    left = Session(done.returncode, done.stdout, folder)
    assert (choices(plain), plain.results()) == (choices(left), left.results())


@pytest.mark.parametrize("seed", ["0"])
def test_the_seed_of_hashes_changes_nothing(plain, tmp_path, seed):
    done = session(project(tmp_path / "p"), *GOLD, "-n", "0", PYTHONHASHSEED=seed)
    assert (0, choices(plain), plain.results()) == (done.status, choices(done), done.results()), done.text


@pytest.mark.parametrize("workers", ["0", "2"])
def test_items_in_random_order_give_the_same_outcomes_and_tables(plain, tmp_path, workers):
    installed("pytest_randomly")
    done = session(project(tmp_path / "p"), *GOLD, "-n", workers, "-p", "randomly", "-p", "no:cacheprovider",
                   "--randomly-seed=7")
    assert (0, choices(plain), plain.results()) == (done.status, choices(done), done.results()), done.text


def test_an_item_that_is_rerun_is_one_outcome(tmp_path):
    installed("pytest_rerunfailures")
    test = '''
import pytest
seen = set()

@pytest.mark.probes(suite="invariance")
def test_decision(probe):
    probe.ask()
    if str(probe.key) not in seen:
        seen.add(str(probe.key))
        raise AssertionError("the first time")
'''
    done = session(project(tmp_path / "p", test), *GOLD, "-n", "0", "-p", "rerunfailures", "--reruns", "1")
    assert (0, N) == (done.status, len(done.rows())), done.text
    assert f"coin: {N} requests;" in done.text


def test_a_timeout_of_an_item_is_a_lost_request_and_the_others_count(tmp_path):
    installed("pytest_timeout")
    test = '''
import time, pytest

@pytest.mark.probes(suite="invariance")
def test_decision(probe):
    if "swap-longer" in str(probe.key):
        time.sleep(30)
    probe.ask()
'''
    done = session(project(tmp_path / "p", test), *GOLD, "-n", "0", "-p", "timeout", "--timeout", "1.5",
                   "-o", "timeout_func_only=true")
    assert (1, N - 1) == (done.status, len(done.rows())), done.text
    assert "1 lost" in done.text


def test_coverage_measures_a_session_of_workers(plain, tmp_path):
    installed("pytest_cov")
    done = session(project(tmp_path / "p"), *GOLD, "-n", "2", "-p", "pytest_cov",
                   "--cov=harness.plugin", "--cov-report=term", **UNMEASURED)
    assert (0, choices(plain)) == (done.status, choices(done)), done.text
    assert "TOTAL" in done.text
    assert not list(Path(done.run()).glob(".coverage*"))
