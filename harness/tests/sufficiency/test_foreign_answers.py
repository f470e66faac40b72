"""Answers, options, formulas and pictures of sets that others made: what is wrong with one is said with its place."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from harness.build import family
from harness.datasets.paired import canonical, check_options
from harness.errors import DataError
from harness.oracle.functions import parity_of_latex, parity_of_plot
from harness.spec import load

SPECS = Path(__file__).parents[3] / "specs" / "sufficiency"
GENRES = {"space": "set", "members": ["Crime", "Drama", "War"], "noun": "genre", "min": 1}


@pytest.mark.parametrize("answer, space, one", [
    (7, {"space": "integer"}, "7"), ("-7", {"space": "integer"}, "-7"),
    ("A", {"space": "choice", "values": ["A", "B"]}, "A"),
    (["War", "Crime", "War"], GENRES, '["Crime","War"]'), ([], {**GENRES, "min": 0}, "[]"),
], ids=str)
def test_an_answer_has_one_form(answer, space, one):
    assert one == canonical(answer, space, "x.jsonl:1")


@pytest.mark.parametrize("answer, space, message", [
    (True, {"space": "integer"}, "answer True is not an integer"),
    (7.5, {"space": "integer"}, "answer 7.5 is not an integer"),
    ("seven", {"space": "integer"}, "answer 'seven' is not an integer"),
    ("9" * 19, {"space": "integer"}, f"answer '{'9' * 19}' is not an integer"),
    ("evn", {"space": "choice", "values": ["even", "odd"]}, "answer 'evn' is not offered; did you mean 'even'?"),
    ("Drama", GENRES, "answer 'Drama' is not a list of genre"),
    (7, GENRES, "answer 7 is not a list of genre"),
    (["Dramma"], GENRES, "'Dramma' is not a known genre; did you mean 'Drama'?"),
    ([], GENRES, "the answer is empty; at least 1 is needed"),
])
def test_an_answer_outside_its_space_is_named_with_its_place(answer, space, message):
    with pytest.raises(DataError) as error:
        canonical(answer, space, "x.jsonl:1")
    assert str(error.value).startswith(f"x.jsonl:1: {message}")


@pytest.mark.parametrize("options, message", [
    ({"A": "yes", "B": "  "}, "option 'B' is empty"),
    ({"A": "Yes", "B": "yes "}, "options 'A' and 'B' both say 'yes '; one of them must differ"),
])
def test_options_that_cannot_be_told_apart_are_refused(options, message):
    with pytest.raises(DataError, match=f"x: {message}"):
        check_options(options, "x")


@pytest.mark.parametrize("formula, message", [
    ("$$f(x) = x + $$", "formula ends too early"),
    ("$$f(x) = x ) $$", "formula ends before '\\)'"),
    ("$$f(x) = \\frac{x}{x + } $$", "'}' stands where a number or x is expected"),
    ("$$f(x) = \\sin(x)$$", "holds something that is no rational function of x"),
])
def test_a_formula_that_cannot_be_read_is_a_data_error(formula, message):
    with pytest.raises(DataError, match=f"oracle: .*{message}|oracle: {message}"):
        parity_of_latex(formula)


@pytest.mark.parametrize("formula, parity", [
    ("$$f(x) = -x^{3} + 2 \\cdot x$$", "odd"), ("$$f(x) = \\frac{1}{1 + x^2}$$", "even"),
    ("$$f(x) = (x + 1) x$$", "neither"),
])
def test_a_formula_is_even_odd_or_neither(formula, parity):
    assert parity == parity_of_latex(formula)


def picture(pixels: np.ndarray) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def test_a_plot_without_axes_or_without_a_curve_is_a_data_error():
    blank = np.full((120, 120, 3), 255, np.uint8)
    with pytest.raises(DataError, match="the plot has no axes through its origin"):
        parity_of_plot(picture(blank))
    blank[60, :] = blank[:, 60] = 0
    with pytest.raises(DataError, match="the plot has no curve"):
        parity_of_plot(picture(blank))


@pytest.mark.parametrize("name", ["parity", "maxflow"])
def test_the_check_of_a_paired_set_reads_each_picture_once_and_counts_them(name):
    made = family(load(SPECS / f"{name}.yaml"))
    items = made.data.items[:3]
    few = replace(made.data, items=items)
    made = type(made)(made.spec)
    made.data = few
    pictures = sum(1 for p in items for pieces in p.inputs.values() for piece in pieces if piece.image is not None)
    assert f"{name}: 3 items of {few.name} ({few.kind}), 3 clusters, {pictures} pictures" == made.check()[0]


def test_pictures_that_cannot_be_read_are_named_together():
    def broken(name: str):
        def read() -> bytes:
            raise DataError(f"{name}: the picture is damaged")
        return read

    made = family(load(SPECS / "parity.yaml"))
    items = [replace(p, inputs={n: tuple(replace(piece, image=piece.image and broken(p.id)) for piece in pieces)
                                for n, pieces in p.inputs.items()}) for p in made.data.items[:2]]
    made = type(made)(made.spec)
    made.data = replace(made.data, items=items)
    with pytest.raises(DataError) as error:
        made.check()
    assert {f"{p.id}: the picture is damaged" for p in items} == set(str(error.value).splitlines())
