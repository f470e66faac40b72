"""Whether the process that holds a claim still runs, also where the system does not say when a process started."""

import os
import subprocess
import sys

import pytest

from harness import owner

PROC = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")


@pytest.fixture
def ended() -> int:
    """The id of a process that is over."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.fixture(params=["as here", "without /proc"])
def system(request, monkeypatch) -> str:
    if request.param == "without /proc":
        monkeypatch.setattr(owner.os.path, "isdir", lambda path: False)
    return request.param


def test_this_process_is_alive(system):
    assert owner.process_alive(os.getpid(), owner.started_at(os.getpid()) or "")


def test_a_process_that_is_over_is_not(system, ended):
    assert not owner.process_alive(ended, "")


@PROC
def test_another_process_of_the_same_id_is_not_the_one_that_had_it():
    assert not owner.process_alive(os.getpid(), "1")


def test_a_process_of_somebody_else_is_alive_though_it_may_not_be_signalled(monkeypatch):
    def refuse(pid: int, sign: int) -> None:
        raise PermissionError

    monkeypatch.setattr(owner.os, "kill", refuse)
    assert owner.process_alive(os.getpid(), "")


@PROC
def test_a_killed_child_that_nobody_waited_for_is_not_alive():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    started = owner.started_at(process.pid)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert not owner.process_alive(process.pid, started or "")
    process.wait()
