from __future__ import annotations

import csv
import importlib.util
import io
import json
import os
import subprocess
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cli.export import flat
from harness.report import github, junit
from harness.report.decisions import decide, profile
from harness.report.document import build
from harness.report.evidence import read
from harness.report.inspect_log import logs
from harness.tests.report_html import runs
from harness.tests.validity.synthetic import answered, oracle, right_with, row

GATES = [
    {"name": "right", "metric": "accuracy", "at_least": 90},
    {"name": "readable", "metric": "attrition", "at_most": 5},
    {"name": "again", "metric": "reproducibility", "at_least": 95, "undecided": "pass"},
]


def document(outcomes, gates=GATES, **more):
    made = build(outcomes, {**runs.RUN, **more})
    return replace(made, verdicts=decide(profile({"ci": gates}, "ci"), made.rows, made.resamples))


def test_junit_has_a_case_a_gate_and_model_with_failures_and_skips():
    root = ElementTree.fromstring(junit.write(document(answered(right_with(0.3), n=4)))["junit.xml"])
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("3", "1", "1")
    cases = {c.get("name"): [child.tag for child in c] for c in root.iter("testcase")}
    assert cases == {"right": ["failure"], "readable": ["system-out"], "again": ["skipped"]}
    assert {c.get("classname") for c in root.iter("testcase")} == {"gates.m"}


def test_junit_survives_what_xml_cannot_hold():
    bad = [replace(o, model="m\x00\x1b[31m<&\ud800") for o in answered(oracle, n=2)]
    ElementTree.fromstring(junit.write(document(bad))["junit.xml"])


def test_without_gates_there_is_no_junit_file():
    assert junit.write(document([row()], gates=[])) == {}


def test_outside_of_github_nothing_is_announced(tmp_path):
    said = []
    github.announce(document([row()]), {}, said.append)
    assert said == []


def test_the_job_summary_is_appended_to(tmp_path):
    path = tmp_path / "summary.md"
    path.write_text("before\n")
    github.announce(document(answered(right_with(0.3), n=4)), {"GITHUB_STEP_SUMMARY": str(path)}, print)
    text = path.read_text()
    assert text.startswith("before\n## isoprobe: run r1")
    assert "1 of 3 verdicts count as failed" in text
    assert "right on core variants" in text


@pytest.mark.parametrize("on_github, start", [("", "warning: "), ("true", "::warning title=isoprobe::")])
def test_a_job_summary_that_cannot_be_written_is_a_warning(tmp_path, on_github, start):
    said = []
    environ = {"GITHUB_STEP_SUMMARY": str(tmp_path / "none" / "summary.md"), "GITHUB_ACTIONS": on_github}
    github.announce(document([row()], gates=[]), environ, said.append)
    assert said == [f"{start}GITHUB_STEP_SUMMARY: {tmp_path}/none/summary.md cannot be written (No such file or directory); "
                    "the report holds the same"]


def test_the_job_summary_says_all_of_a_long_verdict():
    made = document(answered(right_with(0.3), n=4), gates=[GATES[0]])
    (verdict,) = made.verdicts
    assert "x" * 900 in github.summary(replace(made, verdicts=(replace(verdict, message="x" * 900),)))


def test_a_huge_summary_stays_below_what_github_takes():
    outcomes = [replace(o, model=f"m{k}") for k in range(3) for o in answered(right_with(0.3), n=2)]
    made = document(outcomes[:20], gates=[{**GATES[0], "name": "n" * 280}])
    many = replace(made, verdicts=made.verdicts * 4000)
    assert len(github.summary(many).encode()) < 1_048_576


def test_each_failed_verdict_is_an_annotation_in_one_line():
    lines = github.annotations(document(answered(right_with(0.3), n=4)))
    assert len(lines) == 1
    assert lines[0].startswith("::error title=right (m)::fail: expected accuracy at least 90 %25")


def test_annotations_end_with_how_many_more_there_are():
    made = document(answered(right_with(0.3), n=2))
    assert "6 more" in github.annotations(replace(made, verdicts=made.verdicts[:1] * 15))[-1]


def test_a_hostile_gate_name_cannot_start_another_command():
    made = document(answered(right_with(0.3), n=2), gates=[{**GATES[0], "name": "x\n::set-output name=a::b"}])
    assert all("\n" not in line for line in github.annotations(made))


# -- other tools ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    outcomes = runs.recorded(folder, {"good": runs.right}, limit=1, reply="shorter")
    for name, data in logs(build(outcomes, {**runs.RUN, "specs": {"gold-scope": {"version": 1}}}), read(folder)):
        (folder / name).write_bytes(data)
    return next(folder.glob("2026*.json"))


def test_an_inspect_log_holds_a_sample_a_request_with_its_messages_and_score(exported):
    log = json.loads(exported.read_text())
    sample = log["samples"][0]
    assert (log["version"], log["status"], len(log["samples"])) == (2, "success", 9)
    assert sample["scores"]["decision"]["value"] == "C"
    assert sample["messages"][-1]["content"] == "shorter"
    assert any(p["type"] == "image" for s in log["samples"] for p in s["input"][0]["content"])


def test_inspect_s_own_reader_parses_the_log(exported):
    """In this environment, or in the one whose Python ``INSPECT_PYTHON`` names."""
    python = os.environ.get("INSPECT_PYTHON")
    if not python and importlib.util.find_spec("inspect_ai") is None:
        pytest.skip("inspect_ai is not installed; set INSPECT_PYTHON to a Python that has it")
    script = (
        "import sys; from inspect_ai.log import read_eval_log; log = read_eval_log(sys.argv[1]); "
        "print(log.status, len(log.samples), log.samples[0].scores['decision'].value, log.eval.task)"
    )
    made = subprocess.run(
        [python or "python", "-c", script, str(exported)], capture_output=True, text=True, check=False
    )
    assert made.stdout.split() == ["success", "9", "C", "gold-scope"], made.stderr[-2000:]


def test_the_flat_table_has_a_line_a_request_and_a_column_a_fact():
    rows = list(csv.DictReader(io.StringIO(flat([row(facts={"simulated": True}), row(view="x")]).decode())))
    assert [r["facts.simulated"] for r in rows] == ["True", ""]
    assert rows[0]["correct"] == "True"


def test_the_mean_of_right_in_the_flat_table_is_the_share_of_attempted_requests():
    outcomes = [row(instance="a"), row(instance="b", status="unparsed"), row(instance="c", choice="B"),
                row(instance="d", status="lost")]
    rows = csv.DictReader(io.StringIO(flat(outcomes).decode()))
    assert [(r["correct"], r["right"]) for r in rows] == [("True", "1"), ("", "0"), ("False", "0"), ("", "")]
