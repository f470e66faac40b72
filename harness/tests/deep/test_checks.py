"""Balance by hand, near-duplicates, prompts that do not fit, and whole specs of both families."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from harness import cli
from harness.backends.config import ModelConfig
from harness.build import Selection
from harness.datasets.paired import Pair, Piece
from harness.deep import duplicates
from harness.deep.balance import balances
from harness.deep.check import check
from harness.deep.context import limit
from harness.deep.page import text
from harness.deep.survey import look, survey
from harness.spec import load
from harness.spectrum import Spectrum
from harness.tests.deep.test_leakage import item

SPECS = Path(__file__).parents[3] / "specs"
GRID = np.arange(450.0, 731.0, 10)


def spectrum(name: str, shift: float, noise: float = 0.0) -> Spectrum:
    response = 1 - 0.6 * np.exp(-(((GRID - 600 - shift) / 30) ** 2)) + noise * np.cos(GRID)
    return Spectrum(name, GRID, response, "transmission")


def test_balance_counts_each_variant_once_and_gives_the_share_of_the_commonest():
    items = [item(i, answer, cut=cut, deletion=deletion, variant=cut) for i, (answer, cut, deletion) in enumerate([
        ("450-605", "full", "long"), ("450-605", "outside", "long"), ("undetermined", "inside", "long"),
        ("605-645", "full", "short")])]
    found = {b.what: (b.counts, b.largest) for b in balances([*items, items[0]])}
    assert ({"450-605": 2, "605-645": 1, "undetermined": 1}, 50.0) == found["answer"]
    assert ({"1": 2, "2": 1, "5": 1}, 50.0) == found["position of the right option"]
    assert ({"full": 2, "inside": 1, "outside": 1}, 50.0) == found["cut"]
    assert ({"long": 1}, 100.0) == found["part cut away"]


def test_a_near_duplicate_is_found_by_its_distance_and_an_identical_one_counted():
    shown = [("a", spectrum("a", 0)), ("b", spectrum("b", 0, 1e-4)), ("c", spectrum("c", 60)), ("d", spectrum("d", 60))]
    found = duplicates.spectra("scope", shown)
    assert (2, 1) == (found.near, found.same)
    assert ("c", "d") == found.pair
    assert found.distance == 0


def test_two_spectra_of_one_instance_are_not_compared():
    found = duplicates.spectra("compare", [("a", spectrum("x", 0)), ("a", spectrum("y", 0)), ("b", spectrum("z", 60))])
    assert 0 == found.near
    assert found.distance > 10


def test_identical_texts_of_two_items_are_found_with_their_answers():
    spec = load(SPECS / "sufficiency" / "panels.yaml")

    def pair(name: str, words: str, answer: str) -> Pair:
        return Pair(name, name, answer, {"text": (Piece(words),), "image": (Piece(f"photo of {name}"),)})

    found = list(duplicates._paired(spec, [pair("a", "Flow  is 3.", "[]"), pair("b", "flow is 3.", '["flow"]'),
                                           pair("c", "Flow is 4.", "[]")]))
    assert [("shift log", 1, 1, ("a", "b")), ("panel photo", 0, 0, ())] == [
        (r.what, r.same, r.differ, r.pair) for r in found]


@pytest.mark.parametrize("config,context", [
    (ModelConfig("m", "smollm2"), 8192),
    (ModelConfig("m", "pico"), 2048),
    (ModelConfig("m", "vllm", options={"serve_args": ["--max-model-len", "512"]}), 512),
    (ModelConfig("m", "vllm", options={"serve_args": ["--max-model-len=512"]}), 512),
    (ModelConfig("m", "chat"), 0),
])
def test_the_context_of_a_model_is_what_its_declaration_or_its_backend_says(config, context):
    assert context == limit(config)[0]


def test_a_prompt_longer_than_a_context_is_a_problem_that_names_the_request():
    found = check(load(SPECS / "invariance" / "gold-scope.yaml"),
                  [ModelConfig("small", "smollm2", options={"context": 256}, modalities=("text",))],
                  select=Selection(views=("table_nm", "plot_nm"), limit=2))
    assert any(p.startswith("model small: ") and "context of 256 tokens" in p and "gold-scope/scope/suffq-00" in p
               for p in found.problems)


def test_an_oracle_that_disagrees_is_a_problem(monkeypatch):
    monkeypatch.setattr("harness.deep.survey.spectra_oracle", lambda request: "longer")
    found = check(load(SPECS / "invariance" / "gold-scope.yaml"), select=Selection(views=("table_nm",), limit=3))
    assert found.right < found.requests
    assert found.problems[0].startswith("the oracle fails on gold-scope/scope/suffq-")


@pytest.mark.parametrize("name", ["gold-scope", pytest.param("metasurface-scope", marks=pytest.mark.slow)])
def test_no_leak_is_reported_on_the_tables_of_a_scope_set(name):
    found = check(load(SPECS / "invariance" / f"{name}.yaml"), select=Selection(views=("table_ev",)))
    assert () == found.problems
    assert [] == [leak for leak in found.leaks if leak.verdict == "above chance"]


def test_intervals_that_leave_one_answer_are_found_in_a_spec(tmp_path):
    words = (SPECS / "invariance" / "metasurface-scope.yaml").read_text("utf-8")
    words = words.replace("[[605, 730], [450, 685]]", "[[450, 605], [450, 685]]").replace("instances: 54", "instances: 6")
    words = words.replace("cut_half_width_nm: 20", "cut_half_width_nm: 10").replace("min_samples: 5", "min_samples: 3")
    words = words.replace("margin_nm: 15", "margin_nm: 5").replace("exclude: [metasurface-main]", "")
    path = tmp_path / "cornered.yaml"
    path.write_text(words.replace("name: metasurface-scope", "name: cornered"), "utf-8")
    found = check(load(path), select=Selection(views=("table_nm",)))
    assert [p for p in found.problems if "leaves one possible answer" in p]


@pytest.mark.parametrize("name", ["parity", "panels"])
def test_paired_specs_are_read_by_their_oracle(name):
    found = check(load(SPECS / "sufficiency" / f"{name}.yaml"), select=Selection(limit=2))
    assert (found.requests, 0, ()) == (found.right, found.unread, found.problems)
    assert "nothing wrong" in text(found)


def test_what_no_program_reads_is_counted_and_not_called_right():
    spec = load(SPECS / "sufficiency" / "mmimdb.yaml")
    verdicts = {i.verdict for i in survey(spec, select=Selection(limit=2))}
    assert {"unread"} == verdicts


def test_an_item_keeps_nothing_of_the_evidence():
    from harness.build import Asked, family

    spec = load(SPECS / "invariance" / "gold-scope.yaml")
    built = family(spec)
    request = built.build(next(iter(built.keys(Selection(views=("plot_nm",))))), Asked("m"))
    seen = look(spec, request)
    assert ("800x500",) == seen.features["image pixels"]
    assert not any(isinstance(v, bytes) for v in (getattr(seen, f) for f in seen.__dataclass_fields__))


def test_the_command_prints_json_and_its_status(capsys, monkeypatch):
    monkeypatch.chdir(SPECS.parent)
    status = cli.main(["validate", "gold-scope", "--deep", "--json", "--limit", "2"])
    (found,) = json.loads(capsys.readouterr().out)
    assert (0, [], 42) == (status, found["problems"], found["right"])
