from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.errors import RunError
from harness.outcome import LOST, Outcome
from harness.probe import RequestKey
from harness.report.decisions import Profile
from harness.report.publish import publish
from harness.report.recorded import Recorded, load, lost_outcomes, merge
from harness.report.run import (
    KEYS,
    OUTCOMES,
    RUN,
    OutcomeLog,
    begin_run,
    find_run,
    read_keys,
    read_outcomes,
    read_run,
    write_run,
)
from harness.tests.validity.synthetic import answered, oracle, row


def write_report(folder, outcomes, run, gates=(), notes=()):
    """The report without its pictures."""
    return publish(folder, outcomes, run, Profile(tuple(gates)), notes, pictures=False)

ABOUT = {"id": "r1", "seed": 0, "specs": {"s": {"sha256": "aa"}}, "models": {"m": {}}}


@pytest.fixture
def folder(tmp_path):
    write_run(tmp_path / "r1", ABOUT)
    return tmp_path / "r1"


def record(folder, *outcomes):
    with OutcomeLog(folder) as log:
        for o in outcomes:
            log.append(o)


def test_what_is_written_is_what_is_read(folder):
    outcomes = answered(oracle, n=2)
    record(folder, *outcomes)
    assert (read_outcomes(folder), read_run(folder)) == ((outcomes, []), {"schema": 1, **ABOUT})


@given(text=st.text())
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_text_of_a_model_survives(tmp_path, text):
    outcome = row(choice=text, notes={"reply": text})
    path = tmp_path / "any"
    (path / OUTCOMES).unlink(missing_ok=True)
    record(path, outcome)
    assert read_outcomes(path)[0] == [outcome]


def test_a_torn_last_line_is_dropped_with_a_note(folder):
    record(folder, row(), row(instance="i1"))
    path = folder / OUTCOMES
    path.write_bytes(path.read_bytes()[:-30])
    outcomes, notes = read_outcomes(folder)
    assert ([o.instance for o in outcomes], notes) == (
        ["i0"],
        ["outcomes.jsonl:2: the last line is torn (the run was killed) and was dropped"],
    )


def test_a_run_goes_on_after_a_torn_line(folder):
    record(folder, row())
    with (folder / OUTCOMES).open("a") as file:
        file.write('{"key": "torn')
    record(folder, row(instance="i1"))
    assert ([o.instance for o in read_outcomes(folder)[0]], read_outcomes(folder)[1]) == (["i0", "i1"], [])


def test_a_file_that_is_one_torn_line_starts_anew(folder):
    (folder / OUTCOMES).write_text('{"key"')
    record(folder, row())
    assert [o.instance for o in read_outcomes(folder)[0]] == ["i0"]


@pytest.mark.parametrize("line", ["not json", "[1]", "{}", '{"key": "x"}', "[" * 5000])
def test_a_broken_line_in_the_middle_is_an_error_that_names_it(folder, line):
    (folder / OUTCOMES).write_text(f"{json.dumps(row().to_row())}\n{line}\n")
    with pytest.raises(RunError, match=r"outcomes\.jsonl:2: not an outcome"):
        read_outcomes(folder)


def test_columns_of_a_newer_version_are_ignored(folder):
    (folder / OUTCOMES).write_text(json.dumps({**row().to_row(), "novel": 1}) + "\n")
    assert read_outcomes(folder)[0] == [row()]


def test_a_run_without_outcomes_says_so(folder):
    assert load(folder).notes == ("outcomes.jsonl does not exist: no request was answered",)


def test_requests_recorded_twice_count_once_and_are_noted(folder):
    record(folder, row(status="provider_error"), row(choice="B"), row(choice="B"))
    found = load(folder)
    assert ([o.choice for o in found.outcomes], found.notes) == (
        ["B"],
        ("2 requests were recorded more than once; the last reply counts",),
    )


def test_expected_requests_without_an_outcome_are_lost(folder):
    outcomes = answered(oracle, n=2, spec="s")
    write_run(folder, ABOUT, [o.key for o in outcomes])
    record(folder, *outcomes[:-3])
    found = load(folder)
    assert [o.key for o in found.outcomes if o.status == LOST] == sorted(o.key for o in outcomes[-3:])
    assert found.notes[0].startswith(f"3 of {len(outcomes)} requests have no reply and are lost")


def test_a_lost_request_keeps_what_tables_and_gates_filter_by():
    outcomes = answered(oracle, n=3)
    gone = next(o for o in outcomes if o.wording == "energy" and o.view == "plot_ev")
    (lost,) = lost_outcomes([gone.key], [o for o in outcomes if o.key != gone.key])
    columns = ("modality", "unit", "core", "wording", "direction", "cut", "deletion", "relation", "dataset")
    assert [getattr(lost, c) for c in columns] == [getattr(gone, c) for c in columns]


def test_a_model_name_with_slashes_is_no_trouble_for_lost_keys():
    (lost,) = lost_outcomes([row(model="org/model:free").key], [])
    assert (lost.model, lost.status) == ("org/model:free", LOST)


@pytest.mark.parametrize("line, message", [
    (b"nonsense", "'nonsense' is not spec/task"), (b"a/b/c/d/e/f/x/m", "'x'"), (b"\xff\xfe", "can't decode byte 0xff")])
def test_a_line_that_is_no_key_is_an_error_that_names_file_and_line(folder, line, message):
    (folder / KEYS).write_bytes(row().key.encode() + b"\n" + line + b"\n")
    with pytest.raises(RunError, match=rf"r1/keys\.txt:2: not the key of a request \(.*{message}"):
        load(folder)


def test_a_folder_in_the_place_of_the_keys_is_an_error(folder):
    (folder / KEYS).mkdir()
    with pytest.raises(RunError, match=r"r1/keys\.txt: cannot be read \(Is a directory\)"):
        load(folder)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"specs": {"s": "x"}}, "specs: s: 'x' is not an object"),
        ({"specs": {"s": {"dataset": "x"}}}, "specs: s: dataset: 'x' is not an object"),
        ({"specs": {"s": {"tables": [1]}}}, "specs: s: tables: 0: 1 is not text"),
        ({"models": {"m": "x"}}, "models: m: 'x' is not an object"),
        ({"packages": [1]}, r"packages: \[1\] is not an object"),
        ({"notes": "x"}, "notes: 'x' is not a list"),
        ({"seed": "x"}, "seed: 'x' is not a whole number"),
        ({"resamples": "many"}, "resamples: 'many' is not a whole number"),
        ({"interval": []}, r"interval: \[\] is not text"),
        ({"gate": {}}, "gate: {} is not text"),
    ],
)
def test_a_property_of_another_kind_is_refused_with_its_place(folder, changes, message):
    write_run(folder, {**ABOUT, **changes})
    with pytest.raises(RunError, match=rf"r1/run\.json: {message}; restore it"):
        load(folder)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"probabilities": {"A": "b"}}, "probabilities: 'b' in it is a str"),
        ({"probabilities": {"A": float("nan")}}, "probabilities: nan is not a finite number"),
        ({"confidence": float("nan")}, "confidence: nan is not a finite number"),
        ({"cost_usd": float("inf")}, "cost_usd: inf is not a finite number"),
        ({"tokens_in": 10**400}, "tokens_in: 10* is not a finite number"),
        ({"options": [1]}, "options: 1 in it is a int"),
        ({"claims": {"text": None}}, "claims: None in it is a NoneType"),
        ({"key": "zzz"}, "key: 'zzz' is not that of the columns, 's/compare/i0/v0/table_nm/plain/0/m'"),
        ({"model": "other"}, "key: 's/compare/i0/v0/table_nm/plain/0/m' is not that of the columns, 's/.*/other'"),
    ],
)
def test_a_row_that_no_run_has_written_is_an_error_that_names_its_line(folder, changes, message):
    (folder / OUTCOMES).write_text(f"{row().to_json()}\n{json.dumps({**row().to_row(), **changes})}\n")
    with pytest.raises(RunError, match=rf"outcomes\.jsonl:2: not an outcome \({message}\); delete the line"):
        load(folder)


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "cannot be read as JSON"),
        ("[]", "holds a list; a JSON object is expected"),
        ("{}", r"'schema' \(version of this format\) is missing"),
        (json.dumps({"schema": 2, **ABOUT}), r"schema 2 is not one this version reads \(1 to 1\)"),
        (json.dumps({"schema": 1, **ABOUT, "specs": []}), r"specs: \[\] is not an object by name"),
    ],
)
def test_a_faulty_run_json_says_what_is_wrong(folder, text, message):
    (folder / RUN).write_text(text)
    with pytest.raises(RunError, match=message):
        read_run(folder)


def test_runs_are_found_by_path_and_by_name(folder):
    assert (find_run(str(folder), folder), find_run("r1", folder.parent)) == (folder, folder.parent / "r1")


def test_an_unknown_run_names_the_nearest_one(folder):
    with pytest.raises(RunError, match=r"'r2' is not a run folder.*did you mean 'r1'"):
        find_run("r2", folder.parent)


def recorded(name, outcomes, **more):
    return Recorded({"schema": 1, **ABOUT, "id": name, **more}, tuple(outcomes))


def test_merging_joins_models_and_requests():
    both = merge([recorded("a", [row()]), recorded("b", [row(model="n")], models={"n": {}})])
    assert (both.run["id"], both.run["models"], len(both.outcomes)) == ("a + b", {"m": {}, "n": {}}, 2)


def test_of_a_request_in_several_runs_the_last_run_counts_unless_only_an_earlier_one_has_a_reply():
    both = merge(
        [
            recorded("a", [row(choice="A"), row(instance="i1")]),
            recorded("b", [row(choice="B"), row(instance="i1", status=LOST)]),
        ]
    )
    assert ([o.choice for o in both.outcomes], both.notes) == (
        ["B", "A"],
        ("2 requests are in several runs; the last run named counts",),
    )


def test_runs_of_different_versions_of_a_spec_are_not_merged():
    with pytest.raises(RunError, match="spec 's' is another version"):
        merge([recorded("a", []), recorded("b", [], specs={"s": {"sha256": "bb"}})])


def test_models_configured_differently_and_other_packages_are_noted():
    both = merge(
        [
            recorded("a", [], packages={"numpy": "1"}),
            recorded("b", [], models={"m": {"temperature": 1}}, packages={"numpy": "2"}),
        ]
    )
    assert both.notes == ("model m: configured differently in run b", "run b: other package versions than run a")


def test_a_folder_that_cannot_be_written_is_a_run_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"run\.json: cannot be written"):
        write_run(tmp_path / "file" / "r", ABOUT)


def test_rows_hold_builtins_only_and_one_line_each(folder):
    record(folder, row(notes={"text": "a\nb\u2028c"}))
    assert len((folder / OUTCOMES).read_bytes().splitlines()) == 1
    assert isinstance(read_outcomes(folder)[0][0], Outcome)


@given(
    data=st.binary(max_size=200),
    changes=st.dictionaries(
        st.sampled_from(sorted(row().to_row())),
        st.one_of(st.none(), st.integers(), st.text(max_size=3), st.lists(st.integers(), max_size=2)),
        min_size=1,
        max_size=2,
    ),
)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_whatever_stands_in_the_file_is_read_or_is_a_run_error(tmp_path, data, changes):
    folder = tmp_path / "any"
    write_run(folder, ABOUT)
    (folder / OUTCOMES).write_bytes(json.dumps({**row().to_row(), **changes}).encode() + b"\n" + data)
    with contextlib.suppress(RunError):
        write_report(folder, load(folder).outcomes, {**ABOUT, "resamples": 2})


def test_a_run_with_a_damaged_line_among_its_keys_is_repaired_by_the_session_that_completes_it(tmp_path):
    first, second = (str(RequestKey("s", "compare", f"i{k}", "v0", "table_nm", "plain", 0, "m")) for k in (0, 1))
    begin_run(tmp_path / "r", {**ABOUT, "models": {}}, [first])
    with (tmp_path / "r" / "keys.txt").open("ab") as file:
        file.write(b"\xff\xfe torn\n")
    begin_run(tmp_path / "r", {**ABOUT, "models": {}}, [second])
    assert [first, second] == read_keys(tmp_path / "r")
