"""The 23 prompts of table 13 against golden files written from appendix C, byte for byte."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from harness.build import Asked, Selection, family
from harness.probe import Request
from harness.spec import load

GOLDEN = Path(__file__).parent / "golden"
SPECS = Path(__file__).parents[3] / "specs" / "sufficiency"
FILES = sorted(p.stem for p in GOLDEN.glob("*.txt"))


@cache
def requests(name: str) -> dict[tuple[str, str], Request]:
    """View and template -> the request of one item; max-flow of the paper's four nodes in red and blue."""
    built = family(load(SPECS / f"{name}.yaml"))
    if name == "maxflow":
        chosen = next(p.id for p in built.data.items
                      if p.fields == {"source": "0", "sink": "3", "source_color": "red", "sink_color": "blue"})
    elif name == "goldenview":
        chosen = built.data.items[0].id
    else:
        chosen = built.data.items[0].cluster if name == "mmimdb" else built.data.items[0].id
    keys = [k for k in built.keys(Selection()) if k.instance.startswith(chosen)]
    return {(k.view, k.template): built.build(k, Asked("m")) for k in reversed(keys)}


def test_there_are_23_golden_prompts() -> None:
    assert len(FILES) == 23


@pytest.mark.parametrize("name", FILES)
def test_a_system_message_is_the_golden_one(name: str) -> None:
    spec, *rest = name.split("-")
    views = [rest[0]] if len(rest) == 2 else ["both", "set_a", "set_b"]
    for view in views:
        expected = (GOLDEN / f"{name}.txt").read_text("utf-8")
        assert expected == requests(spec)[view, rest[-1]].system


@pytest.mark.parametrize("spec", ["parity", "maxflow", "mmimdb", "panels"])
def test_pictures_come_before_text_and_a_withheld_input_is_in_neither_message(spec: str) -> None:
    both, text, image = (requests(spec)[view, "plain"] for view in ("both", "text", "image"))
    assert [bool(p.image) for p in both.evidence] == [True, False]
    assert text.evidence == both.evidence[1:]
    assert image.evidence == both.evidence[:1]
    declared = load(SPECS / f"{spec}.yaml").data["inputs"]
    assert declared["image"]["name"] not in text.system
    assert declared["text"]["name"] not in image.system


@pytest.mark.parametrize("view", ["set_a", "set_b"])
@pytest.mark.parametrize("template", ["plain", "assessment"])
def test_goldenview_names_withheld_cameras_in_every_single_set_condition(view: str, template: str) -> None:
    request = requests("goldenview")[view, template]
    other = {"set_a": "set_b", "set_b": "set_a"}[view]
    shown = [p.text.split(" - ")[1].rstrip(":") for p in requests("goldenview")[other, template].evidence if p.text]
    name = {"set_a": "Set A", "set_b": "Set B"}[other]
    assert request.prompt.startswith(f"Withheld cameras ({name}): {', '.join(shown)}\n\nQuestion: ")


def test_goldenview_shows_set_and_camera_before_each_picture_and_the_question_last() -> None:
    request = requests("goldenview")["both", "plain"]
    assert [bool(p.image) for p in request.evidence] == [False, True] * 6
    assert request.prompt.startswith("Question: ")
    assert request.prompt.splitlines()[1].startswith("A. ")


def test_the_title_has_no_self_report() -> None:
    assert {t for v, t in requests("mmimdb") if v == "title"} == {"plain"}


def test_a_request_asked_alone_is_the_one_of_a_full_run() -> None:
    built = family(load(SPECS / "panels.yaml"))
    keys = list(built.keys(Selection(limit=3)))
    together = [built.build(k, Asked("m")).sha256 for k in keys]
    alone = [type(built)(built.spec).build(k, Asked("m")).sha256 for k in reversed(keys)][::-1]
    assert together == alone
