"""Whole sessions: the suite by command line, own data without Python, and the same tables whatever the processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.tests.plugin.session import SUFFICIENCY, project, session
from harness.tests.sufficiency.test_specs import written


def test_the_suite_runs_and_its_tables_are_the_same_with_two_workers(tmp_path: Path) -> None:
    arguments = (
        "--spec",
        "mmimdb",
        "--model",
        "ideal-self-knower",
        "--model",
        "over-claimer",
        "--limit",
        "4",
        "--run-id",
    )
    one = session(project(tmp_path / "one", SUFFICIENCY), *arguments, "r")
    two = session(project(tmp_path / "two", SUFFICIENCY), *arguments, "r", "-n", "2")
    assert [0, 0] == [one.status, two.status], one.text + two.text
    tables = {p.name: p.read_bytes() for p in (one.run() / "tables").glob("*.csv") if p.name != "cost.csv"}
    assert tables == {p.name: p.read_bytes() for p in (two.run() / "tables").glob("*.csv") if p.name != "cost.csv"}
    assert {
        "prospective.csv",
        "attribution.csv",
        "sufficiency_flag.csv",
        "task_performance.csv",
        "row_losses.csv",
        "prospective_wirings.csv",
        "attribution_wirings.csv",
        "assessment_cost.csv",
        "usable_rows.csv",
    } <= set(tables)


@pytest.mark.parametrize(("model", "status"), [("ideal-self-knower", 0), ("over-claimer", 1)])
def test_gates_tell_a_self_knower_from_one_that_overclaims(tmp_path: Path, model: str, status: int) -> None:
    ran = session(
        project(tmp_path / "p", SUFFICIENCY), "--spec", "panels", "--model", model, "--limit", "24", "--gate", "sufficiency"
    )
    assert status == ran.status, ran.text
    assert (status == 1) == ("FAIL insufficiency is recognised" in ran.text)


def test_own_data_run_without_python(tmp_path: Path) -> None:
    folder = project(tmp_path / "p", SUFFICIENCY)
    ran = session(folder, "--spec", str(written(folder)), "--model", "copy-answer", "--run-id", "r")
    assert 0 == ran.status, ran.text
    assert 12 == len(ran.rows())
    assert {"usable"} == {row["status"] for row in ran.rows().values()}


def test_two_items_of_one_id_are_a_usage_error_before_anything_is_asked(tmp_path: Path) -> None:
    folder = project(tmp_path / "p", SUFFICIENCY)
    file = written(folder)
    rows = (folder / "mine.jsonl").read_text()
    (folder / "mine.jsonl").write_text(rows.replace('"p1"', '"p0"'))
    ran = session(folder, "--spec", str(file), "--model", "copy-answer")
    assert pytest.ExitCode.INTERRUPTED == ran.status, ran.text  # that of an error while items are collected
    assert "mine.jsonl:2: id 'p0' is the id of line 1 already; ids must differ" in ran.text
    assert "UsageError" in ran.text
    assert not (folder / "reports").exists()


def test_the_oracle_agrees_with_what_every_arm_supports(tmp_path: Path) -> None:
    ran = session(
        project(tmp_path / "p", SUFFICIENCY),
        "--spec",
        "parity",
        "--spec",
        "panels",
        "--spec",
        "goldenview",
        "--model",
        "oracle",
        "--limit",
        "3",
        "--run-id",
        "r",
    )
    assert 0 == ran.status, ran.text
    assert 3 * 18 == len(ran.rows())


@pytest.mark.slow
def test_a_real_language_model_is_asked_the_text_arms_and_its_losses_are_counted(tmp_path: Path) -> None:
    ran = session(project(tmp_path / "p", SUFFICIENCY), "--spec", "panels", "--spec", "parity", "--model", "smollm2-writes",
                  "--limit", "2", timeout=1200)
    assert ran.status == 0, ran.text
    rows = list(ran.rows().values())
    assert {(row["spec"], row["view"]) for row in rows} == {("panels", "text"), ("parity", "text")}
    assert {row["status"] for row in rows} <= {"usable", "unparsed", "truncated"}
    assert all(row["tokens_out"] > 0 for row in rows)
    assert "row_losses.csv" in {p.name for p in (ran.run() / "tables").iterdir()}
