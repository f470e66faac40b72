"""A project of its own whose model ``m`` is a server on loopback."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from harness.tests import fault_server
from harness.tests.plugin.session import ROOT, environment, project


def chat_project(path: Path, url: str, **more: Any) -> Path:
    """A folder with the repository's specs and one chat model at ``url``."""
    project(path)
    (path / "specs").mkdir()
    for name in ("invariance", "sufficiency", "schema", "gates.yaml"):
        (path / "specs" / name).symlink_to(ROOT / "specs" / name)
    entry = {"backend": "chat", "model": "m", "base_url": url + "/v1", "readout": "json_choice", "modalities": ["text"],
             "in_flight": 64, "max_tries": 30, "options": {"backoff_s": [0.005, 0.05]}, **more}
    (path / "specs" / "models.yaml").write_text(yaml.safe_dump({"models": {"m": entry}}), "utf-8")
    return path


@contextmanager
def served(program: str | Path = fault_server.__file__, **settings: Any) -> Iterator[str]:
    """The address of a fault server, or of another ``program`` that takes its settings, in a process of its own."""
    process = subprocess.Popen([sys.executable, program, json.dumps(settings)], stdout=subprocess.PIPE, text=True,
                               env=environment())
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
    finally:
        process.kill()
        process.wait()
