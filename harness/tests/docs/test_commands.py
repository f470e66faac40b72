"""Every command of the documentation runs; what needs a server, a key or much time is checked for its options."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import yaml

from harness.tests.plugin import session as sessions
from harness.tests.validity.synthetic import row

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = sorted(p.name for p in DOCS.glob("*.md"))
SKIPPED = "# not run here"
FIRST = "pytest -q test_invariance --spec gold-scope --limit 2 --model oracle --model abstain-on-truncation --run-id first"
SECOND = FIRST.replace("run-id first", "run-id second").replace("--limit 2", "--limit 1")


def blocks(page: str, language: str) -> list[str]:
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```", (DOCS / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return ["\n".join(line.removeprefix(indent) for line in body.splitlines()) for indent, body in found]


def commands(page: str) -> list[str]:
    return [b for b in blocks(page, "sh") if not b.startswith(SKIPPED)]


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A copy of what a clone offers, with two runs in it."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "specs", folder / "specs")
    shutil.copytree(ROOT / "test_invariance", folder / "test_invariance", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("conftest.py", "pytest.ini"):
        shutil.copy(ROOT / name, folder / name)
    shell(folder, FIRST)
    shell(folder, SECOND)
    return folder


def shell(folder: Path, script: str) -> str:
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_ACTIONS", "PYTEST_ADDOPTS"):
        environ.pop(name, None)
    made = subprocess.run(["bash", "-euc", script], cwd=folder, env=environ, capture_output=True, text=True, timeout=300,
                          check=False)
    assert made.returncode == 0, f"{script}\n{made.stdout[-3000:]}\n{made.stderr[-3000:]}"
    return made.stdout


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if commands(p)])
def test_the_commands_of_the_page_run(project, page):
    for script in commands(page):
        if script != FIRST:
            shell(project, script)


@cache
def options(program: str) -> str:
    words = [sys.executable, "-m", "pytest", "--help"] if program == "pytest" else [
        sys.executable, "-m", "harness", program, "--help"]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False).stdout


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_options_of_commands_that_are_not_run_exist(page):
    for script in (b for b in blocks(page, "sh") if b.startswith(SKIPPED)):
        for line in script.splitlines():
            words = shlex.split(line, comments=True)
            if words and words[0] in ("pytest", "isoprobe"):
                program = words[0] if words[0] == "pytest" else words[1]
                missing = [w for w in words if w.startswith("--") and w not in options(program)]
                assert missing == [], line


def test_the_accuracy_by_pandas_counts_replies_that_could_not_be_read(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pandas")
    outcomes = [row(instance=f"i{i}", status="usable" if i % 4 else "unparsed") for i in range(24)]
    monkeypatch.chdir(tmp_path)
    Path("reports/first").mkdir(parents=True)
    Path("reports/first/outcomes.jsonl").write_text("".join(o.to_json() + "\n" for o in outcomes), "utf-8")
    (script,) = blocks("other-tools.md", "python")
    exec(compile(script, "other-tools.md", "exec"), {})
    assert capsys.readouterr().out.split()[-1] == "0.75"


def test_the_python_of_the_pages_runs_on_a_run(project, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.chdir(project)
    for page in PAGES:
        for script in blocks(page, "python"):
            exec(compile(script, page, "exec"), {})


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)(#[^)]*)?\)", (DOCS / page).read_text("utf-8")):
        assert (DOCS / target[0]).exists(), target[0]


def test_yaml_blocks_parse():
    for page in PAGES:
        for text in blocks(page, "yaml"):
            yaml.safe_load(text)


@pytest.mark.parametrize("name", ["github.yml", "gitlab.yml"])
def test_the_files_for_ci_parse_and_their_options_exist(name):
    text = (DOCS / "ci" / name).read_text("utf-8")
    data = yaml.safe_load(text)
    assert data
    script = next(line for line in text.splitlines() if "pytest test_invariance" in line)
    assert [w for w in script.split() if w.startswith("--") and w not in options("pytest")] == []


def gated() -> list[str]:
    """The suites and the limit of each command that the documents judge by the profile ``ci``, once each."""
    pages = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted((DOCS / "ci").glob("*.yml"))]
    lines = [line for page in pages for line in page.read_text("utf-8").splitlines() if "--gate ci" in line]
    return sorted({" ".join(re.findall(r"--(?:spec|limit) \S+", line)) for line in lines})


@pytest.mark.parametrize("suites", gated())
def test_the_oracle_passes_the_ci_profile_as_the_documents_use_it(suites, tmp_path):
    shutil.copytree(ROOT / "specs", tmp_path / "specs")
    words = [*suites.split(), "--views", "table_nm,table_ev", "--model", "oracle", "--gate", "ci"]
    done = sessions.session(sessions.project(tmp_path), *words)
    assert (done.status, "UNDECIDED" in done.text, "verdicts hold" in done.text) == (0, False, True), done.text


def test_the_map_of_the_code_names_every_module():
    readme = (ROOT / "harness" / "README.md").read_text("utf-8")
    words = set(re.findall(r"\w+", readme.split("## Map")[1].split("One way through")[0]))
    modules = {p.stem for p in (ROOT / "harness").glob("*.py") if p.stem.strip("_") == p.stem}
    packages = {p.parent.name for p in (ROOT / "harness").glob("*/__init__.py")}
    assert (modules | packages) - words - {"__main__"} == set()


def test_every_page_is_in_the_table_of_contents():
    contents = (DOCS / "README.md").read_text("utf-8")
    assert [p for p in PAGES if p != "README.md" and f"({p})" not in contents] == []
