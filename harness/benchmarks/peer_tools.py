"""The tools of the comparison: their environments, what each is told to do, and what each recorded."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = Path(__file__).parent / "peer_clients"
IN_FLIGHT, TRIES = 64, 10
INSTANCES, PER_INSTANCE = 74, 48
"""A task of metasurface-main with 74 instances instead of 48 makes 3,552 text requests, as many as it has with pictures."""
PACKAGES = {"inspect": ("inspect_ai", "openai"), "lm_eval": ("lm_eval[api]",), "deepeval": ("deepeval",)}
NODE = "node@22"
"""promptfoo needs a newer node than many systems have; this one comes from the registry like promptfoo itself."""


# -- environments ---------------------------------------------------------------------------------------------------------


def python_of(tool: str, work: Path) -> Path:
    """The interpreter of the tool's environment, made on first use; CalledProcessError when it cannot be installed."""
    python = work / f"venv-{tool}" / "bin" / "python"
    ready = work / f"venv-{tool}" / "ready"
    if not ready.exists():
        print(f"installing {' '.join(PACKAGES[tool])}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", python.parents[1]], check=True)
        for what in (["--upgrade", "pip"], list(PACKAGES[tool])):  # the pip of older Pythons resolves for hours
            subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *what], check=True)
        ready.touch()
    return python


def promptfoo_in(work: Path) -> Path:
    """promptfoo's program, installed on first use; OSError or SubprocessError without npm or its registry."""
    program = work / "promptfoo" / "node_modules" / ".bin" / "promptfoo"
    if not program.exists():
        if not shutil.which("npm"):
            raise OSError("npm is not installed")
        program.parents[2].mkdir(exist_ok=True)
        install = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"]
        print("installing promptfoo", flush=True)
        subprocess.run([*install, NODE], cwd=program.parents[2], check=True, timeout=600)
        env = {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}
        subprocess.run([*install, "promptfoo"], cwd=program.parents[2], env=env, check=True, timeout=1800)
    return program


def version(tool: str, work: Path) -> str:
    if tool == "isoprobe":
        return importlib.metadata.version("isoprobe")
    if tool == "promptfoo":
        return json.loads((work / "promptfoo/node_modules/promptfoo/package.json").read_text("utf-8"))["version"]
    package = PACKAGES[tool][0].partition("[")[0]
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    return subprocess.run([python_of(tool, work), "-c", code], check=True, capture_output=True, text=True).stdout.strip()


# -- the project and the prompts ------------------------------------------------------------------------------------------


def write_project(folder: Path) -> Path:
    """A folder with isoprobe's declarations of the requests; the model ``m`` is added for each server."""
    from harness.tests.plugin.session import project

    specs = folder / "specs"
    (specs / "invariance").mkdir(parents=True, exist_ok=True)
    shutil.copytree(ROOT / "specs" / "schema", specs / "schema", dirs_exist_ok=True)
    shutil.copy(ROOT / "specs" / "gates.yaml", specs)
    declared = (ROOT / "specs" / "invariance" / "metasurface-main.yaml").read_text("utf-8")
    (specs / "invariance" / "metasurface-main.yaml").write_text(
        declared.replace("instances: 48", f"instances: {INSTANCES}"), "utf-8")
    return project(folder)


def write_prompts(path: Path, project: Path, limit: int) -> int:
    """The text that isoprobe sends, one line a request, and how many there are."""
    from harness.build import Asked, Selection, expand, family
    from harness.spec import load_all

    specs = {s.name: s for s in load_all(project, ["metasurface-main"])}
    model = Asked("m", sees_images=False, readout="json_choice")
    rows = []
    for key in expand(specs.values(), [model], Selection(limit=limit)):
        request = family(specs[key.spec]).build(key, model)
        prompt = "\n\n".join(t for t in (request.system, request.text) if t)
        rows.append({"id": str(key), "prompt": prompt, "target": "A"})
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), "utf-8")
    return len(rows)


# -- what each tool is told -----------------------------------------------------------------------------------------------


def isoprobe(work: Path, url: str, prompts: Path, out: Path, limit: int) -> list[str | Path]:
    project = work / "project"
    shutil.rmtree(project / ".isoprobe", ignore_errors=True)
    shutil.rmtree(project / "reports", ignore_errors=True)
    model = {"backend": "chat", "model": "m", "base_url": url + "/v1", "readout": "json_choice", "modalities": ["text"],
             "in_flight": IN_FLIGHT, "max_tries": TRIES}
    (project / "specs" / "models.yaml").write_text(json.dumps({"models": {"m": model}}), "utf-8")  # JSON is YAML
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-figures", "--rootdir", project, project,
            "--spec", "metasurface-main", "--model", "m", "--limit", str(limit), "--run-id", "r"]


def client(tool: str) -> Callable[[Path, str, Path, Path, int], list[str | Path]]:
    def command(work: Path, url: str, prompts: Path, out: Path, limit: int) -> list[str | Path]:
        return [python_of(tool, work), CLIENTS / f"{tool}_client.py", prompts, url + "/v1", out, str(IN_FLIGHT), str(TRIES)]
    return command


def promptfoo(work: Path, url: str, prompts: Path, out: Path, limit: int) -> list[str | Path]:
    config = {
        "prompts": ["{{prompt}}"],
        "providers": [{"id": "openai:chat:served", "config": {
            "apiBaseUrl": url + "/v1", "apiKey": "none", "temperature": 0, "max_tokens": 2048}}],
        "tests": [{"vars": {"prompt": r["prompt"], "id": r["id"]}, "assert": [{"type": "contains", "value": r["target"]}]}
                  for r in map(json.loads, prompts.open(encoding="utf-8"))],
    }
    (out.parent / "promptfooconfig.json").write_text(json.dumps(config), "utf-8")
    node = promptfoo_in(work).parent / "node"
    return [node, "--max-old-space-size=4096", promptfoo_in(work), "eval", "-c", out.parent / "promptfooconfig.json",
            "-j", str(IN_FLIGHT), "--no-cache", "--no-table", "--no-progress-bar", "-o", out]


TOOLS: dict[str, Callable[[Path, str, Path, Path, int], list[str | Path]]] = {
    "isoprobe": isoprobe, "inspect": client("inspect"), "lm_eval": client("lm_eval"), "deepeval": client("deepeval"),
    "promptfoo": promptfoo,
}


# -- what came of it ------------------------------------------------------------------------------------------------------


def replies(tool: str, work: Path, out: Path) -> list[tuple[str, str]]:
    """(text, error) of each request that the tool has something recorded of."""
    if tool == "isoprobe":
        recorded = work / "project" / "reports" / "r" / "outcomes.jsonl"
        rows = [json.loads(line) for line in recorded.open(encoding="utf-8")] if recorded.exists() else []
        return [('{"choice": ""}' if r["status"] == "usable" else "", r["error"] if r["status"] != "usable" else "")
                for r in rows]
    if not out.exists():
        return []
    if tool == "promptfoo":
        found = json.loads(out.read_text("utf-8"))["results"]["results"]
        said = [r.get("response") or {} for r in found]
        return [(_text(r.get("output")), r.get("error") or "") for r in said]
    return [(r["text"] or "", r["error"]) for r in map(json.loads, out.open(encoding="utf-8"))]


def _text(output: Any) -> str:
    return output if isinstance(output, str) else "" if output is None else json.dumps(output)
