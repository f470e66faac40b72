"""The oracle reads the messages alone: texts exactly, plots, graphs, dials and signs from their pixels."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.build import Asked, Selection, family
from harness.datasets import maxflow, parity
from harness.oracle.functions import parity_of_latex, parity_of_plot
from harness.oracle.graphs import flow, matrix_of, matrix_of_drawing
from harness.oracle.paired import answer
from harness.probe import Response, Truth
from harness.spec import load

SPECS = Path(__file__).parents[3] / "specs" / "sufficiency"


def test_every_formula_is_read_exactly() -> None:
    for pair in parity.load().items:
        assert pair.expected == parity_of_latex(pair.inputs["text"][0].text)


def test_every_third_plot_is_digitised_to_its_parity() -> None:
    for pair in parity.load().items[::13]:
        assert pair.expected == parity_of_plot(pair.inputs["image"][0].image()), pair.id


def test_every_matrix_gives_the_flow_of_the_solver_by_another_algorithm() -> None:
    for pair in maxflow.load().items:
        matrix = matrix_of(pair.inputs["text"][0].text)
        assert pair.expected == str(flow(matrix, 0, len(matrix) - 1))


@pytest.mark.parametrize("at", [0, 60, 96])
def test_a_drawn_graph_is_read_back_to_its_matrix(at: int) -> None:
    pair = maxflow.load().items[at]
    assert matrix_of(pair.inputs["text"][0].text) == matrix_of_drawing(pair.inputs["image"][0].image())


@pytest.mark.parametrize("name", ["panels", "goldenview"])
def test_it_finds_what_every_arm_supports_and_states_the_known_sufficiency(name: str) -> None:
    built = family(load(SPECS / f"{name}.yaml"))
    for key in built.keys(Selection(limit=8)):
        if key.template == "plain":
            continue
        request = built.build(key, Asked("m"))
        facts = request.truth.facts
        object.__setattr__(request, "truth", Truth(""))  # it must not need what the model does not see
        said = answer(request)
        assert facts["answers"][facts["arm"]] == said["answer"], key
        if facts["arm"] == "both":
            assert {i: facts["answers"][i] for i in facts["inputs"]} == {i: said[i] for i in facts["inputs"]}, key
        else:
            assert facts["sufficient"][facts["arm"]] == (said["sufficiency"] == "SUFFICIENT"), key


def test_it_says_so_when_it_cannot_read_the_evidence() -> None:
    built = family(load(SPECS / "mmimdb.yaml"))
    said = answer(built.build(next(iter(built.keys(Selection()))), Asked("m")))
    assert isinstance(said, Response)
    assert said.error
