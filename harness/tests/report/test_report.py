from __future__ import annotations

import csv
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from harness.errors import RunError
from harness.gates import gates_of
from harness.outcome import Estimate, Gate, Table, Verdict
from harness.report.decisions import Profile
from harness.report.document import build, wanted_tables
from harness.report.markdown import table_text, write
from harness.report.publish import publish
from harness.report.tables_csv import table_csv
from harness.tables import TABLES
from harness.tests.validity.synthetic import answered, oracle, right_with, row


def write_report(folder, outcomes, run, gates=(), notes=()):
    """The report without its pictures."""
    return publish(folder, outcomes, run, Profile(tuple(gates)), notes, pictures=False)

RUN = {
    "schema": 1,
    "id": "r1",
    "seed": 7,
    "resamples": 100,
    "python": "3.11.9",
    "packages": {"numpy": "2.0"},
    "started": "2026-11-02T10:00:00Z",
    "specs": {
        "metasurface-main": {
            "version": 3,
            "sha256": "abc123",
            "title": "Silicon metasurfaces",
            "dataset": {"name": "metasurface", "kind": "simulated", "licence": "CC0-1.0"},
        }
    },
    "models": {
        "m": {
            "backend": "openai",
            "api_key": "sk-secret",
            "api_key_env": "OPENAI_API_KEY",
            "base_url": "https://user:pw@host/v1",
        }
    },
}


@pytest.fixture(scope="module")
def outcomes():
    return answered(right_with(0.7), n=6) + answered(oracle, n=6, model="oracle")


def report(folder: Path, outcomes, **more) -> str:
    write_report(folder, outcomes, RUN, **more)
    return (folder / "report.md").read_text("utf-8")


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_the_same_outcomes_in_any_order_give_the_same_bytes(tmp_path, outcomes):
    gates = gates_of(yaml.safe_load((Path(__file__).parents[3] / "specs" / "gates.yaml").read_text()))["ci"]
    write_report(tmp_path / "a", outcomes, RUN, gates)
    write_report(tmp_path / "b", random.Random(5).sample(outcomes, len(outcomes)) + outcomes[:9], RUN, gates)
    assert files(tmp_path / "a") == files(tmp_path / "b")


def test_bytes_do_not_depend_on_the_hash_seed(tmp_path):
    script = (
        "import sys; from pathlib import Path; from harness.report.publish import publish\n"
        "from harness.tests.validity.synthetic import answered, right_with\n"
        "publish(Path(sys.argv[1]), answered(right_with(0.7), n=3), "
        "{'id': 'r', 'seed': 1, 'resamples': 50, 'specs': {}, 'models': {}}, pictures=False)"
    )
    for seed in ("0", "1"):
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / seed)],
            check=True,
            cwd=Path(__file__).parents[3],
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
    assert files(tmp_path / "0") == files(tmp_path / "1")


def test_simulated_data_are_said_to_be_simulated(tmp_path, outcomes):
    text = report(tmp_path, outcomes)
    assert "Silicon metasurfaces; **simulated data**, 24 instances" in text
    assert "**Simulated data:** the evidence of metasurface-main was computed, not measured on samples." in text


def test_measured_data_are_not_called_simulated(tmp_path):
    write_report(tmp_path, [row(spec="gold")], {**RUN, "specs": {"gold": {"dataset": {"kind": "measured"}}}})
    text = (tmp_path / "report.md").read_text()
    assert ("**measured data**" in text, "imulated" in text) == (True, False)


def test_the_kind_of_data_comes_from_the_outcomes_where_run_json_does_not_say(tmp_path, outcomes):
    write_report(tmp_path, outcomes, {**RUN, "specs": {}})
    assert "**simulated data**" in (tmp_path / "report.md").read_text()


def test_provenance_shows_hashes_versions_licence_seed_and_packages(tmp_path, outcomes):
    text = report(tmp_path, outcomes)
    assert [
        s
        for s in ("abc123", "CC0-1.0", "OPENAI\\_API\\_KEY", "numpy", "seed 7", "100 resamples")
        if s.replace("\\_", "_") not in text
    ] == []


def test_secrets_and_start_times_are_not_shown(tmp_path, outcomes):
    text = report(tmp_path, outcomes)
    assert [s for s in ("sk-secret", "user:pw", "2026-11-02") if s in text] == []


@pytest.mark.parametrize("options", [
    {"env": {"HF_TOKEN": "sk-secret"}}, {"token": "sk-secret"}, {"headers": {"X-Auth-Token-Value": "sk-secret"}},
    {"servers": [{"api_key": "sk-secret"}]}, {"db_passwd": "sk-secret"}])
def test_whatever_is_named_like_a_secret_is_not_shown(tmp_path, options):
    run = {**RUN, "models": {"m": {"options": {**options, "max_tokens": 4321, "tokenizer": "tok-name"}}}}
    publish(tmp_path, [row()], run, pictures=False)
    pages = [(tmp_path / name).read_text("utf-8") for name in ("report.md", "report.html")]
    assert [(s, s in page) for page in pages for s in ("sk-secret", "4321", "tok-name")] == [
        ("sk-secret", False), ("4321", True), ("tok-name", True)] * 2


def test_notes_and_verdicts_stand_in_full(tmp_path, outcomes):
    table = Table("t", "T", ("c",), (("x",),), note="n" * 900)
    made = build([row()], RUN, notes=["m" * 900])
    verdict = Verdict(Gate("g", "accuracy"), "m", "fail", Estimate(None, None, 0, 0), "v" * 900)
    text = write(replace(made, tables=(table,), verdicts=(verdict,)))["report.md"].decode()
    assert [c * 900 in text for c in "nmv"] == [True, True, True]


def test_verdicts_stand_before_the_tables_with_their_reasons(tmp_path, outcomes):
    text = report(tmp_path, outcomes, gates=[Gate("exact", "core_accuracy", at_least=100)])
    assert text.index("**1 of 2 verdicts count as failed.**") < text.index("## Results")
    assert "expected core_accuracy at least 100 % on the estimate, found 6" in text


def test_notes_about_the_files_are_shown(tmp_path, outcomes):
    assert "> 3 requests are lost" in report(tmp_path, outcomes, notes=["3 requests are lost"])


def test_hostile_names_and_replies_leave_the_report_whole(tmp_path):
    hostile = "m|<img src=x onerror=alert(1)>\x1b[2J\n# owned\n`x` [a](http://b)"
    text = report(tmp_path, [row(model=hostile, served_model=hostile, provider="=cmd()|x", latency_s=1.0)])
    assert [s for s in ("<img", "\x1b", "\n# owned", " [a](") if s in text] == []
    tables = [line.replace("\\|", "").count("|") for line in text.splitlines() if line.startswith("|")]
    assert all(n > 2 for n in tables)
    rows = list(csv.reader((tmp_path / "tables" / "cost.csv").open(encoding="utf-8")))
    assert [line[2][:2] for line in rows[1:]] == ["'="] * (len(rows) - 1)


def test_every_table_has_a_csv_whose_lines_carry_value_interval_and_n(tmp_path, outcomes):
    write_report(tmp_path, outcomes, RUN)
    with (tmp_path / "tables" / "accuracy_by_modality.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert list(lines[0]) == [
        "spec",
        "template",
        "model",
        "column",
        "value",
        "low",
        "high",
        "unit",
        "n_instances",
        "n_requests",
        "n_units",
    ]
    assert [(r["model"], r["column"], r["value"], r["n_requests"]) for r in lines if r["model"] == "oracle"] == [
        ("oracle", "tables", "100.0", "264"),
        ("oracle", "plots", "100.0", "132"),
    ]


def test_no_data_is_a_dash_for_readers_and_empty_in_csv():
    table = Table("t", "T", ("model", "x", "instances", "requests"), (("m", Estimate(None, None, 0, 0), 1, 2),))
    assert "—" in table_text(table)
    assert table_csv(table).decode().splitlines()[1] == "m,x,,,,%,0,0,0"


def test_no_data_at_all_still_gives_a_report(tmp_path):
    assert "0 requests of 0 models" in report(tmp_path, [])


def test_tables_of_an_older_report_go(tmp_path, outcomes):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "gone.csv").write_text("old")
    write_report(tmp_path, outcomes, RUN)
    assert not (tmp_path / "tables" / "gone.csv").exists()


def test_a_table_name_that_nothing_declares_is_a_clear_error(tmp_path, outcomes):
    with pytest.raises(Exception, match="'agrement' is not a table; did you mean 'agreement'"):
        write_report(tmp_path, outcomes, {**RUN, "specs": {"s": {"tables": ["agrement"]}}})


def test_specs_choose_their_tables_in_their_order():
    assert wanted_tables(
        {"specs": {"a": {"tables": ["scope", "agreement"]}, "b": {"tables": ["scope", "wording"]}}}
    ) == ["scope", "agreement", "wording", "attrition", "cost"]


def test_a_spec_without_a_choice_gets_all_tables():
    assert wanted_tables({"specs": {"a": {"tables": ["scope"]}, "b": {}}}) == list(TABLES)


def test_a_report_that_cannot_be_written_is_a_run_error(tmp_path, outcomes, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(RunError, match=r"report\.md: cannot be written \(No space left on device\)"):
        write_report(tmp_path, outcomes, RUN)


def test_every_row_states_instances_and_requests(tmp_path, outcomes):
    document = write_report(tmp_path, outcomes, RUN)
    assert all(t.columns[-2:] == ("instances", "requests") for t in document.tables)
