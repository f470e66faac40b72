"""Declarations of paired families: every fault is named with its line; own data need no Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from harness.build import Asked, Selection, family
from harness.errors import DataError, KeyLookupError, SpecError
from harness.probe import RequestKey
from harness.spec import Spec, load

SPECS = Path(__file__).parents[3] / "specs" / "sufficiency"
OWN = """
name: own
version: 1
suite: sufficiency
family: paired
title: Is the pump in order?
seed: 1
dataset: {jsonl: mine.jsonl}
answer: {space: choice, values: [yes, no]}
tasks:
  own: {}
inputs:
  log: {kind: text, name: maintenance log}
  photo: {kind: image, name: photo of the pump, label: PHOTO}
views:
  both: {kind: both}
  log: {kind: text}
  photo: {kind: image}
prompts:
  description:
    both: You are given the maintenance log and a photo of a pump in {site}. Is it in order?
    log: You are given the maintenance log of a pump in {site}. Is it in order?
    photo: You are given a photo of a pump in {site}. Is it in order?
templates: [plain, assessment]
readout: labelled_lines
score: accuracy
""".replace("[yes, no]", '["yes", "no"]')


def written(folder: Path, text: str = OWN, name: str = "own.yaml") -> Path:
    Image.new("RGB", (12, 8), "teal").save(folder / "a.png")
    rows = [
        {"id": f"p{i}", "log": "Seal changed.", "photo": "a.png", "answer": "yes", "site": "Bremen"} for i in range(2)
    ]
    (folder / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / name).write_text(text)
    return folder / name


def test_own_data_need_one_yaml_file_and_one_jsonl_file(tmp_path: Path) -> None:
    built = family(load(written(tmp_path)))
    keys = list(built.keys(Selection()))
    assert 2 * 3 * 2 == len(keys)
    request = built.build(next(k for k in keys if (k.view, k.template) == ("log", "assessment")), Asked("m"))
    assert request.system.startswith(
        "You are given the maintenance log of a pump in Bremen. Is it in order?\n\nAfter you"
    )
    assert "You were not shown this problem's photo of the pump." in request.system
    assert ["ANSWER", "WITH_PHOTO", "SUFFICIENCY"] == [line["label"] for line in request.answer["lines"]]
    assert "ANSWER: <exactly one of: yes, no>" in request.system


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("kind: text, name", "kind: txt, name"),
            "own.yaml:13: inputs.log.kind: 'txt' is not a kind of input; did you mean 'text'?",
        ),
        (("views:", "veiws:"), "unknown property; did you mean 'views'?"),
        (("values: [", "valeus: ["), "unknown property; did you mean 'values'?"),
        (("    log: You", "    lgo: You"), "'lgo' is not a view; did you mean 'log'?"),
        (("templates: [plain", "templates: [plian"), "'plian' is not a template; did you mean 'plain'?"),
        (("{jsonl: mine.jsonl}", "{name: mmimbd}"), "'mmimbd' is not a paired set; did you mean 'mmimdb'?"),
        (("{jsonl: mine.jsonl}", "{name: isobench}"), "'subset' is missing"),
        (("{jsonl: mine.jsonl}", "{name: parity}"), "{site} is not a placeholder"),
        (("{kind: both}", "{kind: both, given: [log, foto]}"), "'foto' is not an input; did you mean 'photo'?"),
        ((', values: ["yes", "no"]', ""), "'values' is missing; a choice needs it"),
        (('["yes", "no"]', "[yes, no]"), "answer.values.0: True is not of type string; put it in quotes"),
        (("label: PHOTO", "label: LOG"), "inputs.photo.label: 'LOG' is the label of 'log' too; labels must differ"),
        (("  photo: {kind: image}", "  photo: {kind: text}"),
         "own.yaml:18: views.photo.kind: 'text' does not fit what the view supplies: photo (image)"),
        (("score: accuracy", "score: sample_f1"), "score: 'sample_f1' is for answers of the space 'set', not 'choice'"),
        (("mine.jsonl}", "mine.jsonl, split: test}"), "dataset.split: says nothing of a file of your own; remove it"),
        (("  own: {}", "  own: {}\n  more: {}"), "own.yaml:10: tasks: 2 given; at most 1"),
        (("family: paired", "family: pair"), "own.yaml:5: family: 'pair' is not a family; did you mean 'paired'?"),
        (("family: paired\n", ""), "own.yaml:2: 'family' is missing"),
        (("both: {kind: both}", "both: {kind: text}"),
         "own.yaml:16: views.both.kind: 'text' does not fit what the view supplies: log (text), photo (image)"),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(SpecError) as caught:
        load(written(tmp_path, OWN.replace(*change)))
    assert message in str(caught.value)


def test_a_column_of_any_name_can_be_a_placeholder(tmp_path: Path) -> None:
    file = written(tmp_path, OWN.replace("{site}", "{Site_2}"))
    (tmp_path / "mine.jsonl").write_text((tmp_path / "mine.jsonl").read_text().replace('"site"', '"Site_2"'))
    built = family(load(file))
    assert "a pump in Bremen." in built.build(next(iter(built.keys(Selection()))), Asked("m")).system


def test_a_placeholder_that_no_column_fills_is_an_error_when_built(tmp_path: Path) -> None:
    built = family(load(written(tmp_path, OWN.replace("{site}. Is it", "{plant}. Is it"))))
    with pytest.raises(DataError, match=r"\{plant\}"):
        built.build(next(iter(built.keys(Selection()))), Asked("m"))


def test_the_check_of_a_set_names_the_items_that_leave_a_placeholder_open(tmp_path: Path) -> None:
    file = written(tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "mine.jsonl").read_text().splitlines()]
    rows[1]["sites"] = rows[1].pop("site")
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(DataError) as caught:
        family(load(file)).check()
    (said,) = str(caught.value).splitlines()
    assert "own.yaml:19: prompts: {site} stands for nothing on an item; did you mean 'sites'?" in said
    assert said.endswith("(item p1)")


def test_a_key_that_names_nothing_says_the_nearest(tmp_path: Path) -> None:
    built = family(load(written(tmp_path)))
    with pytest.raises(KeyLookupError, match="did you mean"):
        built.build(RequestKey("own", "own", "p9", "orig", "log", "plain", 0, "m"), Asked("m"))


def built_in() -> list[Spec]:
    return [load(p) for p in sorted(SPECS.glob("*.yaml"))]


def test_a_model_without_eyes_is_asked_the_text_arms_only() -> None:
    views = {(k.spec, k.view) for spec in built_in() for k in family(spec).keys(Selection(limit=2), sees_images=False)}
    assert {
        ("maxflow", "text"),
        ("mmimdb", "text"),
        ("mmimdb", "title"),
        ("panels", "text"),
        ("parity", "text"),
    } == views


def test_a_limit_keeps_every_arm_of_the_items_it_keeps() -> None:
    keys = list(family(load(SPECS / "panels.yaml")).keys(Selection(limit=5)))
    assert 5 * 3 * 2 == len(keys)


def test_poster_and_title_are_asked_once_a_film() -> None:
    built = family(load(SPECS / "mmimdb.yaml"))
    keys = list(built.keys(Selection()))
    films, plots = {p.cluster for p in built.data.items}, len(built.data.items)
    counts = {v: sum(k.view == v for k in keys) for v in ("both", "text", "image", "title")}
    assert {"both": 2 * plots, "text": 2 * plots, "image": 2 * len(films), "title": len(films)} == counts
    assert len(keys) == len(set(keys))


def test_keys_are_the_same_whatever_the_hash_seed() -> None:
    import subprocess
    import sys

    code = ("from pathlib import Path; from harness.spec import load; from harness.build import family, Selection\n"
            f"print([str(k) for k in family(load(Path({str(SPECS / 'mmimdb.yaml')!r}))).keys(Selection(limit=9))])")
    out = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(SPECS.parents[1])},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "77")
    }
    assert 1 == len(out)


def test_the_published_data_replace_the_stand_in_where_the_settings_name_them(monkeypatch: pytest.MonkeyPatch,
                                                                             tmp_path: Path) -> None:
    row = {"sample_index": 5, "latex": "$$f(x) = x$$", "code": "f(x) = x", "label": "odd"}
    (tmp_path / "math_parity.jsonl").write_text(json.dumps(row))
    monkeypatch.setenv("ISOPROBE_ISOBENCH", str(tmp_path))
    spec = load(SPECS / "parity.yaml")
    data = type(family(spec))(spec).data
    assert ("published", ["parity-005"]) == (data.kind, [p.id for p in data.items])
