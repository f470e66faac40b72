"""Runs a whole pytest session in a folder of its own, as a user would, and reads what it left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
TEST = '''
import pytest

@pytest.mark.probes(suite="invariance")
def test_decision(probe):
    probe.ask()
'''
SUFFICIENCY = TEST.replace("invariance", "sufficiency")
OTHERS = ("randomly", "rerunfailures", "timeout", "pytest_cov")
"""Plugins that development installs to test sessions with them; a session has one where it says ``-p NAME``."""

UNMEASURED = {"COVERAGE_PROCESS_START": None, "COVERAGE_PROCESS_CONFIG": None}
"""For sessions that coverage must not measure, as measuring imports modules and starts a trace of its own."""


@dataclass(frozen=True)
class Session:
    """A finished session: exit status, terminal text, and the folder it ran in."""

    status: int
    text: str
    folder: Path

    def run(self, run_id: str = "r") -> Path:
        return self.folder / "reports" / run_id

    def rows(self, run_id: str = "r") -> dict[str, dict[str, Any]]:
        lines = (self.run(run_id) / "outcomes.jsonl").read_text().splitlines()
        return {row["key"]: row for row in map(json.loads, lines)}

    def results(self, run_id: str = "r") -> str:
        """The report from its results on: what must not depend on when and how it ran."""
        text = (self.run(run_id) / "report.md").read_text()
        return text[text.index("## Results"): text.index("## Provenance")] if "## Provenance" in text else text


def project(folder: Path, test: str = TEST, conftest: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "conftest.py").write_text('pytest_plugins = ["harness.plugin"]\n' + conftest)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(test)
    return folder


def environment(**more: str | None) -> dict[str, str]:
    """That of this process, without what it tells its own pytest; a variable that is None is taken out."""
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_", "ISOPROBE_"))}
    path = os.pathsep.join(p for p in (str(ROOT), keep.get("PYTHONPATH", "")) if p)
    without = " ".join(f"-p no:{name}" for name in OTHERS)
    found = {**keep, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "PYTEST_ADDOPTS": without, **more}
    return {k: v for k, v in found.items() if v is not None}


def interruptible() -> None:
    """For ``preexec_fn``: the children of a background job of a shell ignore Ctrl-C unless told otherwise."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def session(folder: Path, *args: str, timeout: float = 240, **env: str | None) -> Session:
    """``python -m pytest ARGS`` in ``folder``; the run is called r unless the arguments name it."""
    command = [sys.executable, "-m", "pytest", "-q", "--no-figures", *args]
    if "--run-id" not in args:
        command += ["--run-id", "r"]
    done = subprocess.run(command, cwd=folder, env=environment(**env), capture_output=True, text=True, timeout=timeout)
    return Session(done.returncode, done.stdout + done.stderr, folder)
