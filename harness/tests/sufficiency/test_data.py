"""The generated sets: balanced, reproducible, and with a regime that is what it says."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from harness.datasets import films, goldenview, maxflow, panels, parity, scenes
from harness.datasets.draws import Draws
from harness.datasets.paired import Pair

SETS = {"parity": parity, "maxflow": maxflow, "panels": panels, "scenes": scenes, "films": films}
GOLDEN_PICTURES = {"parity": "image", "maxflow": "image", "panels": "image", "scenes": "set_a", "films": "image"}


def items(name: str) -> tuple[Pair, ...]:
    return SETS[name].load().items


def test_parity_has_384_items_128_of_each_answer() -> None:
    assert {"even": 128, "odd": 128, "neither": 128} == Counter(p.expected for p in items("parity"))


def test_maxflow_has_128_graphs_in_the_published_sizes() -> None:
    sizes = Counter(len(p.inputs["text"][0].text.splitlines()) for p in items("maxflow"))
    assert {3: 50, 4: 37, 5: 41} == sizes


def test_the_numerators_of_even_odd_and_neither_functions_are_equally_long() -> None:
    lengths: dict[str, list[int]] = {label: [] for label in parity.LABELS}
    for pair in items("parity"):
        numerator = pair.inputs["text"][0].text.removeprefix(r"$$f(x) = \frac{").split("}{")[0]
        lengths[pair.expected].append(len(numerator))
    assert lengths["even"] == lengths["odd"] == lengths["neither"]


def test_graphs_of_every_size_have_every_flow_equally_often() -> None:
    counts = Counter((len(p.inputs["text"][0].text.splitlines()), int(p.expected)) for p in items("maxflow"))
    for size in (3, 4, 5):
        of_flow = [counts[size, flow] for flow in maxflow.FLOWS]
        assert max(of_flow) - min(of_flow) <= 1


@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 6])
def test_the_least_cut_is_the_flow_of_the_solver(nodes: int) -> None:
    for seed in range(30):
        matrix = maxflow._graph(Draws("cut", nodes, seed), nodes)
        assert maxflow.maximum_flow(matrix, 0, nodes - 1) == maxflow.least_cut(matrix)


def test_panels_are_a_quarter_each_of_the_four_regimes() -> None:
    assert {"redundant": 40, "unique": 40, "complementary": 40, "synergistic": 40} == Counter(
        p.facts["regime"] for p in items("panels"))


def test_scenes_are_55_questions_on_53_scenes_with_three_that_no_single_view_decides() -> None:
    pairs = items("scenes")
    assert (55, 53, 3) == (len(pairs), len({p.cluster for p in pairs}),
                           sum(p.facts["decisive"] == goldenview.NONE for p in pairs))


@pytest.mark.parametrize("name", SETS)
def test_an_input_is_sufficient_exactly_when_it_supports_the_expected_answer(name: str) -> None:
    for pair in items(name):
        for key, sufficient in pair.facts["sufficient"].items():
            reproduces = pair.facts["alone"][key] == pair.expected
            assert sufficient == reproduces, (pair.id, key)


def test_complementary_and_synergistic_panels_need_both_inputs() -> None:
    for pair in items("panels"):
        if pair.facts["regime"] in ("complementary", "synergistic"):
            assert {"text": False, "image": False} == pair.facts["sufficient"]


def test_the_reading_alone_says_nothing_about_the_limits() -> None:
    """In synergistic panels, where only readings are logged, a high reading is as often in as out of limits."""
    out, high = [], []
    for pair in panels.load(n=1600).items:
        if pair.facts["kind"] == "synergistic-readings":
            for line in pair.inputs["text"][0].text.splitlines()[1:7]:
                name, value = line.split(": reading ")
                full = {n: f for n, _, f in panels.GAUGES}[name]
                high.append(float(value.split()[0]) / full > 0.66)
                out.append(name in json.loads(pair.expected))
    rates = [sum(o for o, h in zip(out, high, strict=True) if h == side) / high.count(side) for side in (True, False)]
    assert abs(rates[0] - rates[1]) < 0.08


@pytest.mark.parametrize("name", SETS)
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(name: str) -> None:
    make = SETS[name].load.__wrapped__
    first, again, other = make(n=3), make(n=3), make(n=3, seed=7)
    place = GOLDEN_PICTURES[name]
    def picture(made: object) -> list[bytes]:
        return [q.image() for p in made.items for q in p.inputs[place] if q.image]
    assert picture(first) == picture(again)
    assert picture(first) != picture(other)


def test_pictures_are_small_png_files() -> None:
    for name, place in GOLDEN_PICTURES.items():
        png = next(q.image for q in items(name)[0].inputs[place] if q.image)()
        assert png.startswith(b"\x89PNG")
        assert len(png) < 40_000


def test_draws_do_not_depend_on_what_was_drawn_elsewhere() -> None:
    first = [Draws("a", 1).integer(0, 10**6) for _ in range(3)]
    assert 1 == len(set(first))
    assert Draws("a", 1).shuffled(range(9)) != Draws("a", 2).shuffled(range(9))
