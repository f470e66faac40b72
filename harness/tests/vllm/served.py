"""Models for a real vLLM on a CPU, and folders of their own to run sessions with them in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

from harness.backends.config import ModelConfig
from harness.tests.plugin.session import ROOT, TEST, project

PYTHON = Path(os.environ.get("ISOPROBE_VLLM_PYTHON") or ROOT / ".venv-vllm" / "bin" / "python")
SMOLLM2 = ROOT / ".models" / "smollm2"
TINY = ROOT / ".models" / "tiny-qwen2vl"
PICO = ROOT / "harness" / "backends" / "data" / "pico"
COMPACT = '{"backend": "xgrammar", "disable_any_whitespace": true}'  # weak models fill JSON with endless white space


def missing() -> str:
    """Why the tests of this folder cannot run; "" where they can."""
    absent = [str(p) for p in (PYTHON, SMOLLM2, TINY) if not p.exists()]
    return f"no {', '.join(absent)}: python scripts/vllm_cpu.py makes them" if absent else ""


def entry(model: Path, readout: str, *serve_args: str, dtype: str = "bfloat16", **more: Any) -> dict[str, Any]:
    """A model of ``models.yaml`` that a run starts; on one core, as threads that wait for one another crawl on a busy
    machine."""
    options = {
        "python": str(PYTHON),
        "serve_args": ["--dtype", dtype, "--enforce-eager", "--structured-outputs-config", COMPACT, *serve_args],
        "env": {"VLLM_CPU_OMP_THREADS_BIND": str(max(os.sched_getaffinity(0))), "VLLM_CPU_KVCACHE_SPACE": "1",
                "HF_HUB_OFFLINE": "1"},
        **more.pop("options", {})}
    return {"backend": "vllm", "model": str(model), "readout": readout, "modalities": ["text"], "in_flight": 8,
            "timeout_s": 600, "options": options, **more}


def config(name: str, settings: dict[str, Any]) -> ModelConfig:
    return ModelConfig(name=name, **{**settings, "modalities": tuple(settings["modalities"])})


def folder(path: Path, models: dict[str, Any]) -> Path:
    """A project whose specs are the repository's, with ``models`` besides the declared ones."""
    project(path, TEST)
    (path / "specs").mkdir()
    for name in ("invariance", "sufficiency", "schema"):
        (path / "specs" / name).symlink_to(ROOT / "specs" / name)
    declared = yaml.safe_load((ROOT / "specs" / "models.yaml").read_text("utf-8"))["models"]
    (path / "specs" / "models.yaml").write_text(yaml.safe_dump({"models": {**declared, **models}}), "utf-8")
    return path
