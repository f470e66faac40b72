"""Every command on a small recorded run: what it prints, what it writes, and its exit status."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from harness.backends import smollm2
from harness.cli import main
from harness.errors import BackendError
from harness.tests.fault_server import FaultServer
from harness.tests.plugin.session import ROOT, environment, project, session

RUN = ("--spec", "gold-scope", "--limit", "5", "--model", "oracle", "--model", "abstain-on-truncation")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Path:
    """A project with specs of its own and one run, ``r``."""
    folder = project(tmp_path_factory.mktemp("commands") / "p")
    shutil.copytree(ROOT / "specs", folder / "specs")
    done = session(folder, *RUN, "--run-id", "r")
    assert done.status == 0, done.text
    return folder


@pytest.fixture
def here(recorded, tmp_path, monkeypatch) -> Path:
    """A copy of it as the working directory."""
    folder = tmp_path / "p"
    shutil.copytree(recorded, folder)
    monkeypatch.chdir(folder)
    return folder


# -- report ---------------------------------------------------------------------------------------------------------------


def test_report_writes_the_same_document_again_from_the_outcomes_alone(here, capsys):
    page = here / "reports" / "r" / "report.md"
    before = page.read_text("utf-8")
    page.unlink()
    assert main(["report", "r", "--no-figures"]) == 0
    assert (before, "reports/r/report.html") == (page.read_text("utf-8"), capsys.readouterr().out.strip())


def test_report_of_two_runs_needs_a_folder_of_its_own(here, capsys):
    shutil.copytree("reports/r", "reports/s")
    assert main(["report", "r", "s", "--no-figures"]) == 2
    assert "add --out reports/NAME" in capsys.readouterr().err


def test_report_merges_two_runs_of_the_same_keys_into_one_outcome_each(here):
    shutil.copytree("reports/r", "reports/s")
    assert main(["report", "r", "s", "--out", "reports/both", "--no-figures"]) == 0
    lines = [len((here / "reports" / name / "outcomes.jsonl").read_text().splitlines()) for name in ("r", "both")]
    assert lines[0] == lines[1]


def test_report_merges_the_same_runs_into_one_folder_again(here):
    shutil.copytree("reports/r", "reports/s")
    merged = ["report", "r", "s", "--out", "reports/both", "--no-figures"]
    assert (main(merged), main(merged)) == (0, 0)


@pytest.mark.parametrize("out", ["reports/precious", "reports/r", "{here}/reports/s", "reports/../reports/s"])
def test_report_writes_over_no_run_but_an_earlier_merge_of_the_same_runs(here, capsys, out):
    for name in ("s", "precious"):
        shutil.copytree("reports/r", here / "reports" / name)
    before = {p: p.read_bytes() for p in here.glob("reports/*/*") if p.is_file()}
    assert main(["report", "r", "s", "--out", out.format(here=here), "--no-figures"]) == 2
    assert "holds run 'r', whose rows would be lost" in capsys.readouterr().err
    assert before == {p: p.read_bytes() for p in here.glob("reports/*/*") if p.is_file()}


def test_report_of_one_run_writes_into_its_folder_however_that_is_spelled(here):
    rows = (here / "reports" / "r" / "outcomes.jsonl").read_bytes()
    assert main(["report", "r", "--out", str(here / "reports" / "r"), "--no-figures"]) == 0
    assert (here / "reports" / "r" / "outcomes.jsonl").read_bytes() == rows


def test_report_of_one_run_elsewhere_writes_over_its_copy_but_no_other_run(here):
    copy = ["report", "r", "--out", "reports/copy", "--no-figures"]
    assert (main(copy), main(copy)) == (0, 0)
    other = json.loads(Path("reports/copy/run.json").read_text("utf-8"))
    Path("reports/copy/run.json").write_text(json.dumps({**other, "started": "2020-01-01T00:00:00Z"}), "utf-8")
    assert main(copy) == 2


def test_report_fails_and_names_the_gates_that_do_not_pass(here, capsys):
    gates = Path("specs/gates.yaml")
    text = yaml.safe_load(gates.read_text("utf-8"))
    text["strict"] = [{"name": "never", "metric": "accuracy", "at_least": 100}]
    gates.write_text(yaml.safe_dump(text), "utf-8")
    assert main(["report", "r", "--gate", "strict", "--no-figures"]) == 1
    assert "never (abstain-on-truncation)" in capsys.readouterr().out


# -- evidence and export --------------------------------------------------------------------------------------------------


def test_evidence_keeps_every_request_of_a_run_that_was_recorded_without(here, capsys):
    shutil.rmtree("reports/r/evidence", ignore_errors=True)
    assert main(["evidence", "r"]) == 0
    asked = len(Path("reports/r/outcomes.jsonl").read_text().splitlines())
    assert f"{asked} requests kept" in capsys.readouterr().out


def test_evidence_leaves_out_what_the_specs_ask_differently_now(here, capsys):
    spec = Path("specs/invariance/gold-scope.yaml")
    spec.write_text(spec.read_text("utf-8").replace("?", " now?"), "utf-8")
    assert main(["evidence", "r"]) == 1
    assert "are asked differently by the specs as they are now" in capsys.readouterr().out


def sampled(**temperatures: float) -> None:
    """Declares oracles that are sampled in several ways."""
    models = {name: {"backend": "oracle", "sampling": {"temperature": t}} for name, t in temperatures.items()}
    Path("specs/models.yaml").write_text(yaml.safe_dump({"models": models}), "utf-8")


def test_evidence_finds_the_requests_of_a_model_as_it_was_sampled_in_the_run(here, capsys):
    sampled(warm=0.7)
    asked = ("--spec", "gold-scope", "--limit", "1", "--views", "table_ev", "--model", "warm", "--run-id", "w")
    assert session(here, *asked).status == 0
    kept = Path("reports/w/requests.jsonl")
    before = set(kept.read_text().splitlines())
    kept.unlink()
    sampled(warm=0.1)  # what is declared since then does not matter
    assert main(["evidence", "w"]) == 0
    assert ("3 requests kept" in capsys.readouterr().out, set(kept.read_text().splitlines())) == (True, before)


def test_two_models_that_differ_in_sampling_alone_are_compared_with_a_note(here, capsys):
    sampled(warm=0.7, cold=0.0)
    models = ("--model", "cold", "--model", "warm", "--run-id", "w")
    assert session(here, "--spec", "gold-scope", "--limit", "1", "--views", "table_ev", *models).status == 0
    assert main(["compare", "w", "--out", "c"]) == 0
    said = "warm is declared with another sampling than cold ({'temperature': 0.7}, not {'temperature': 0.0})"
    assert said in Path("c/compare.md").read_text()


def test_export_to_csv_is_one_line_an_outcome(here):
    assert main(["export", "r", "--to", "csv", "--out", "rows.csv"]) == 0
    with open("rows.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    keys = {json.loads(line)["key"] for line in Path("reports/r/outcomes.jsonl").read_text("utf-8").splitlines()}
    assert keys == {row["key"] for row in rows}


@pytest.mark.parametrize(
    "more, message",
    [
        (("rows.csv",), "rows.csv: --to writes to the path given by --out: isoprobe export r --to csv --out rows.csv"),
        (("--limit", "2"), "--limit chooses requests for a --model; --to writes all rows of a run"),
    ],
)
def test_export_to_a_format_refuses_what_it_would_ignore(here, capsys, more, message):
    assert main(["export", "r", "--to", "csv", *more]) == 2
    assert (message in capsys.readouterr().err, (here / "reports/r/outcomes.csv").exists()) == (True, False)


def test_export_to_inspect_is_one_log_a_suite_and_model(here):
    assert main(["export", "r", "--to", "inspect", "--out", "logs", "--no-images"]) == 0
    assert [2, "success"] == [len(list(Path("logs").iterdir())),
                              json.loads(next(Path("logs").iterdir()).read_text("utf-8"))["status"]]


# -- models ---------------------------------------------------------------------------------------------------------------


def test_models_says_whether_a_key_is_set_and_never_what_it_is(here, capsys, monkeypatch):
    declared = {"models": {"far": {"backend": "chat", "model": "m", "base_url": "http://127.0.0.1:1/v1",
                                   "key_env": "FAR_KEY"}}}
    Path("specs/models.yaml").write_text(yaml.safe_dump(declared), "utf-8")
    monkeypatch.setenv("FAR_KEY", "secret-value")
    assert main(["models", "far"]) == 0
    said = capsys.readouterr().out
    assert ("FAR_KEY (set: yes)" in said, "secret-value" in said) == (True, False)


def test_a_check_of_a_model_shows_its_replies_to_a_table_and_a_plot(here, capsys):
    assert main(["models", "--check", "oracle"]) == 0
    assert [line.split(";")[0] for line in capsys.readouterr().out.splitlines() if "; chose" in line] == [
        "text: usable", "image: usable"]


def test_a_check_of_a_model_that_cannot_be_reached_fails(here, capsys):
    declared = {"models": {"far": {"backend": "chat", "model": "m", "base_url": "http://127.0.0.1:1/v1", "max_tries": 1,
                                   "modalities": ["text"]}}}
    Path("specs/models.yaml").write_text(yaml.safe_dump(declared), "utf-8")
    assert main(["models", "--check", "far"]) != 0


# -- batch ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def batch(here) -> Path:
    """An export for a model at an address, and for one that a run would serve itself (were vLLM installed)."""
    plain = {"model": "m", "readout": "json_choice", "modalities": ["text"]}
    declared = {"models": {"m": {**plain, "backend": "chat", "base_url": "http://127.0.0.1:1/v1"},
                           "served": {**plain, "backend": "vllm", "options": {"python": "/nowhere/python"}}}}
    Path("specs/models.yaml").write_text(yaml.safe_dump(declared), "utf-8")
    assert main(["export", "gold-scope", "--model", "m", "--limit", "1", "out.jsonl"]) == 0
    return here


def results(lines: list[str], broken: int = 0) -> str:
    """What a batch service makes of the file; the first ``broken`` lines failed."""
    server, out = FaultServer(), []
    for n, row in enumerate(map(json.loads, lines)):
        good = {"status_code": 200, "body": server.decide(row["url"], row["body"])}
        out.append({"custom_id": row["custom_id"],
                    "response": {"status_code": 500, "body": "no"} if n < broken else good})
    return "".join(json.dumps(row) + "\n" for row in out)


def test_the_replies_of_a_batch_are_what_a_session_then_reads_without_sending(batch):
    Path("results.jsonl").write_text(results(Path("out.jsonl").read_text().splitlines()), "utf-8")
    assert main(["import", "results.jsonl", "--model", "m", "--keys", "out.jsonl.keys"]) == 0
    done = session(batch, "--spec", "gold-scope", "--limit", "1", "--model", "m", "--run-id", "b")
    assert {"usable"} == {row["status"] for row in done.rows("b").values()}, done.text


@pytest.mark.parametrize("workers", ["0", "2"])
def test_no_server_is_started_for_a_model_whose_every_reply_is_stored(batch, workers):
    assert main(["export", "gold-scope", "--model", "served", "--limit", "1", "served.jsonl"]) == 0
    lines = Path("served.jsonl").read_text().splitlines()
    command = ("--spec", "gold-scope", "--limit", "1", "--model", "served", "-n", workers)
    for asked, (status, said) in ((lines[:-1], (4, "served: /nowhere/python")),
                                  (lines[-1:], (0, "served: every reply is stored, so no server is started"))):
        Path("results.jsonl").write_text(results(asked), "utf-8")
        main(["import", "results.jsonl", "--model", "served", "--keys", "served.jsonl.keys"])
        done = session(batch, *command, "--run-id", "b")
        assert (status, 1) == (done.status, done.text.count(said)), done.text
    assert len(lines) == len(done.rows("b"))


def test_a_second_export_holds_nothing_that_has_a_stored_reply(batch, capsys):
    Path("results.jsonl").write_text(results(Path("out.jsonl").read_text().splitlines()), "utf-8")
    main(["import", "results.jsonl", "--model", "m", "--keys", "out.jsonl.keys"])
    capsys.readouterr()
    main(["export", "gold-scope", "--model", "m", "--limit", "1", "again.jsonl"])
    assert ("", True) == (Path("again.jsonl").read_text(), " 0 requests written" in capsys.readouterr().out)


def test_the_requests_of_a_run_can_be_put_to_another_model(batch, capsys):
    asked = session(batch, "--spec", "gold-scope", "--limit", "1", "--views", "table_ev", "--model", "m", "--run-id", "a")
    assert asked.status != 0  # nobody listens there: the run has its keys and no replies
    assert main(["export", "a", "--model", "m", "of_run.jsonl"]) == 0
    assert sorted(line.split("\t")[1] for line in Path("of_run.jsonl.keys").read_text().splitlines()) == sorted(
        (batch / "reports" / "a" / "keys.txt").read_text().splitlines())


def test_an_export_of_requests_needs_a_file(batch, capsys):
    assert main(["export", "gold-scope", "--model", "m"]) == 2
    assert "a file to write the requests to must be named" in capsys.readouterr().err


def test_an_import_counts_errors_lines_that_are_missing_and_lines_of_others(batch, capsys):
    lines = Path("out.jsonl").read_text().splitlines()
    text = results(lines[:-1], broken=1) + json.dumps({"custom_id": "else", "response": {}}) + "\n\n"
    Path("results.jsonl").write_text(text, "utf-8")
    capsys.readouterr()
    assert main(["import", "results.jsonl", "--model", "m", "--keys", "out.jsonl.keys"]) == 1
    assert capsys.readouterr().out == (f"{len(lines) - 2:,} replies stored, 1 errors, 1 requests without a line, "
                                       "1 lines of other exports\n")


@pytest.mark.parametrize("line", ["not JSON", "[]", "{}"])
def test_a_line_that_is_no_batch_result_is_named(batch, capsys, line):
    Path("results.jsonl").write_text(line + "\n", "utf-8")
    assert main(["import", "results.jsonl", "--model", "m", "--keys", "out.jsonl.keys"]) == 2
    assert "results.jsonl:1: not a line of a batch result" in capsys.readouterr().err


def test_a_reply_with_a_line_separator_in_it_is_one_line(batch):
    rows = [json.loads(line) for line in results(Path("out.jsonl").read_text().splitlines()).splitlines()]
    for row in rows:
        row["response"]["body"]["id"] = "a\u2028b\x85c\x1cd"
    Path("results.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    assert main(["import", "results.jsonl", "--model", "m", "--keys", "out.jsonl.keys"]) == 0


def test_replies_to_what_the_spec_no_longer_asks_are_refused(batch, capsys):
    lines = Path("out.jsonl").read_text().splitlines()
    Path("results.jsonl").write_text(results(lines), "utf-8")
    models = Path("specs/models.yaml")
    changed = models.read_text("utf-8").replace("    model: m\n", "    model: m\n    sampling: {seed: 1}\n", 1)
    models.write_text(changed, "utf-8")
    capsys.readouterr()
    assert main(["import", "results.jsonl", "--model", "m", "--keys", "out.jsonl.keys"]) == 2
    name = json.loads(lines[0])["custom_id"]
    assert f"results.jsonl:1: custom_id {name} answers another request than gold-scope/" in capsys.readouterr().err


def test_a_blank_reply_of_a_batch_is_an_error_and_asked_again(batch, capsys):
    lines = Path("out.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in results(lines).splitlines()]
    rows[0]["response"]["body"]["choices"][0] = {"finish_reason": "content_filter", "message": {"content": "\n"}}
    Path("results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    capsys.readouterr()
    assert main(["import", "results.jsonl", "--model", "m", "--keys", "out.jsonl.keys"]) == 1
    assert capsys.readouterr().out.startswith(f"{len(lines) - 1:,} replies stored, 1 errors, ")
    assert main(["export", "gold-scope", "--model", "m", "--limit", "1", "again.jsonl"]) == 0
    assert capsys.readouterr().out.startswith("again.jsonl: 1 requests written")


def test_an_import_without_the_keys_of_its_export_is_refused(batch, capsys):
    assert main(["import", "out.jsonl", "--model", "m", "--keys", "gone.keys"]) == 2
    assert "gone.keys: cannot be read" in capsys.readouterr().err


def test_a_model_in_this_process_cannot_be_batched(here, capsys):
    assert main(["export", "gold-scope", "--model", "oracle", "--limit", "1", "out.jsonl"]) == 2
    assert "is no HTTP service" in capsys.readouterr().err


# -- plan -----------------------------------------------------------------------------------------------------------------


def test_a_plan_without_a_pilot_takes_the_largest_variance(here, capsys):
    assert main(["plan", "gold-scope", "--model", "oracle"]) == 0
    said = capsys.readouterr().out
    assert ("no pilot: with the largest variance" in said, "million input tokens" in said) == (True, True)


def test_a_plan_with_a_pilot_says_for_each_metric_whether_the_declared_instances_suffice(here, capsys):
    assert main(["plan", "gold-scope", "--pilot", "r"]) == 0
    said = capsys.readouterr().out
    assert ("declared suffice" in said, "name a --model to price the run" in said) == (True, True)


def test_a_pilot_of_another_suite_is_refused(here, capsys):
    assert main(["plan", "metasurface-main", "--pilot", "r"]) == 2
    assert "holds no request of 'metasurface-main'" in capsys.readouterr().err


# -- set-up ---------------------------------------------------------------------------------------------------------------


def test_init_lays_out_a_folder_that_the_default_audit_runs_in(tmp_path):
    folder = tmp_path / "my audit"
    assert main(["init", str(folder)]) == 0
    done = subprocess.run([sys.executable, "-m", "harness", "audit", "--model", "oracle", "--limit", "1"], cwd=folder,
                          env=environment(), capture_output=True, text=True, timeout=300)
    assert (0, True) == (done.returncode, (folder / "reports" / "audit" / "report.md").exists()), done.stdout + done.stderr


def test_init_overwrites_nothing(tmp_path, capsys):
    (tmp_path / "specs").mkdir()
    assert main(["init", str(tmp_path)]) == 2
    assert "specs exists already" in capsys.readouterr().err


def test_an_audit_elsewhere_says_where_it_can_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["audit"]) == 2
    assert "test_invariance/ is not here" in capsys.readouterr().err


def test_fetch_checks_weights_that_are_there_already(capsys):
    try:
        smollm2.find_weights()
    except BackendError:
        pytest.skip("the weights of smollm2 are not installed")
    assert main(["fetch", "smollm2"]) == 0
    assert "checksum right" in capsys.readouterr().out
