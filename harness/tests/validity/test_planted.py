"""Scripted responders with a planted behaviour, through real specs, readouts and classification, into every table.

Each table must show the planted value inside its interval (or exactly, where the behaviour is certain).
"""

from functools import cache
from pathlib import Path

import pytest

from harness import classify
from harness.backends.base import create
from harness.backends.config import ModelConfig
from harness.bootstrap import Resamples
from harness.build import Asked, Selection, family
from harness.metrics.metric import load
from harness.outcome import Estimate
from harness.readouts.permute import read
from harness.rows import Rows
from harness.spec import load_all
from harness.tables import TABLES
from harness.tables.grid import build as build_tables

ROOT = Path(__file__).parents[3]
VIEWS = ("table_nm", "table_um", "table_ev", "table_ev_desc")


@cache
def requests(names: tuple[str, ...]):
    """Every table request of the named specs, built once for all responders."""
    made = []
    for spec in load_all(ROOT, names):
        built = family(spec)
        made += [(spec, built.build(key, Asked("m"))) for key in built.keys(Selection(views=VIEWS))]
    return made


def run(names: tuple[str, ...], behaviour: str, **options) -> tuple[Rows, Resamples]:
    backend = create(ModelConfig("m", "scripted", options={"behaviour": behaviour, **options}))
    outcomes = []
    for spec, request in requests(names):
        response = backend.answer(request)
        reading = read(((request, response),)) if classify.worth_reading((response,)) else None
        outcomes.append(classify.outcome(request, (response,), reading, dataset="d", view=spec.view(request.key.view)))
    found = Rows.of(outcomes)
    return found, Resamples.draw(found, 2000, 1)


def estimate(ran: tuple[Rows, Resamples], metric: str, **where) -> Estimate:
    found, resamples = ran
    return resamples.estimate(load(metric), found.where(where))


MAIN, SCOPE = ("metasurface-main", "gold-main"), ("metasurface-scope", "gold-scope")


def test_a_planted_accuracy_lies_inside_every_interval():
    ran = run(MAIN, "accuracy", p=0.9, p_view={"table_ev": 0.6, "table_ev_desc": 0.75}, seed=3)
    for where, planted in (({"view": "table_nm"}, 90), ({"view": "table_um"}, 90), ({"view": "table_ev"}, 60)):
        for task in ("compare", "sufficiency", "extreme", "specification", "threshold"):
            found = estimate(ran, "core_accuracy", task=task, **where)
            assert found.interval[0] - 5 <= planted <= found.interval[1] + 5, (where, task, found)
        found = estimate(ran, "core_accuracy", spec="metasurface-main", **where)
        assert found.interval[0] <= planted <= found.interval[1], (where, found)


@pytest.mark.parametrize("metric, where, planted", [
    ("paired_difference", {"view": "table_um", "spec": "metasurface-main"}, 0),
    ("paired_difference", {"view": "table_ev", "spec": "metasurface-main"}, -30),
    ("row_order_effect", {"view": "table_ev_desc", "spec": "metasurface-main"}, 15),
    ("wording_effect", {"view": "table_ev", "spec": "metasurface-main"}, 0),
    ("position_preference", {"view": "table_nm"}, 50),
    ("attrition", {}, 0),
])
def test_a_planted_difference_lies_inside_its_interval(metric, where, planted):
    found = estimate(run(MAIN, "accuracy", p=0.9, p_view={"table_ev": 0.6, "table_ev_desc": 0.75}, seed=3), metric, **where)
    assert found.interval[0] <= planted <= found.interval[1], found


def test_independent_errors_agree_as_often_as_independence_says():
    ran = run(MAIN, "accuracy", p=0.8, seed=1)
    expected, found = estimate(ran, "all_correct_independent"), estimate(ran, "all_correct")
    assert found.interval[0] <= expected.value <= found.interval[1]
    assert expected.interval[0] <= 100 * 0.8**3 <= expected.interval[1]


@pytest.mark.parametrize("behaviour, options, metric, where, planted", [
    ("first_position", {}, "position_preference", {}, 100),
    ("wavelength_order", {}, "core_accuracy", {"task": "compare", "view": "table_ev"}, 0),
    ("wavelength_order", {}, "core_accuracy", {"task": "compare", "view": "table_nm"}, 100),
    ("wavelength_order", {}, "wording_effect", {"task": "compare", "view": "table_ev"}, 100),
    ("wavelength_order", {}, "row_order_effect", {"task": "compare", "view": "table_ev_desc", "wording": "wavelength"}, 100),
    ("wavelength_order", {}, "flip_rate", {"task": "compare", "view": "table_ev", "wording": "wavelength"}, 100),
    ("visible_extremum", {}, "visible_extremum_share", {}, 100),
    ("decoy", {}, "specification_decoy_share", {}, 100),
    ("never_abstain", {}, "middle_gap_abstention", {}, 0),
    ("always_abstain", {}, "middle_gap_abstention", {}, 100),
    ("accuracy", {"p": 0.0, "confidence": 0.95}, "high_confidence_errors", {}, 100),
    ("accuracy", {"p": 1.0, "confidence": 0.95}, "calibration_error", {}, 5),
], ids=lambda v: v if isinstance(v, str) else "")
def test_a_certain_behaviour_is_shown_exactly(behaviour, options, metric, where, planted):
    assert estimate(run(MAIN, behaviour, **options), metric, **where).value == pytest.approx(planted)


@pytest.mark.parametrize("behaviour, full, d_scope, delta_out", [
    ("accuracy", 100, 100, 0),
    ("abstain_on_any_truncation", 100, 0, -100),
    ("never_abstain", 100, 0, 0),
    ("always_abstain", 0, 0, 0),
    ("visible_extremum", 100, 0, 0),
])
def test_the_scope_plane_tells_the_shortcuts_apart(behaviour, full, d_scope, delta_out):
    ran = run(SCOPE, behaviour)
    found = tuple(estimate(ran, m, modality="table").value for m in ("scope_full", "d_scope", "delta_out"))
    assert found == pytest.approx((full, d_scope, delta_out))


@pytest.mark.parametrize("kind", ["reversed_options", "neutral_labels", "no_descriptions", "json_evidence"])
def test_a_model_misled_by_one_presentation_flips_there_and_nowhere_else(kind):
    ran = run(("metasurface-interface",), "misled_by", probe=kind)
    for probe in ("reversed_options", "neutral_labels", "no_descriptions", "json_evidence"):
        planted = 100 if probe == kind else 0
        where = {"facts.probe": probe}
        assert estimate(ran, "interface_flips", **where).value == pytest.approx(planted)
        assert estimate(ran, "interface_effect", **where).value == pytest.approx(-planted)


def test_a_model_that_goes_by_names_is_found_by_labels_in_conflict():
    ran = run(("metasurface-interface",), "label_follower")
    answerable = {"facts.probe": "conflicting_labels", "task": ["extreme", "compare"]}
    assert estimate(ran, "interface_flips", **answerable).value == 100
    assert estimate(ran, "interface_flips", **{"facts.probe": "opaque_labels"}).value == 0


def test_lost_replies_lower_accuracy_and_are_counted_by_kind():
    shares = {"unparsed": 0.1, "truncated": 0.05, "error": 0.05, "repetition": 0.05}
    ran = run(MAIN, "accuracy", p=1.0, attrition=shares)
    assert estimate(ran, "accuracy_usable").value == 100
    for metric, planted in (("attrition", 25), ("unparsed_share", 10), ("truncated_share", 5), ("core_accuracy", 75)):
        found = estimate(ran, metric)
        assert found.interval[0] <= planted <= found.interval[1], (metric, found)


def test_every_table_of_the_optics_suites_is_made_from_these_runs():
    made = {t.name for t in build_tables(*run(MAIN, "accuracy", p=0.8))}
    made |= {t.name for t in build_tables(*run(SCOPE, "accuracy", p=0.8))}
    made |= {t.name for t in build_tables(*run(("metasurface-interface",), "accuracy", p=0.8))}
    optics = list(TABLES)[: list(TABLES).index("prospective_summary")]
    others = {"reproducibility", "arm_seeds"}  # need repeats, adapters
    assert [name for name in optics if name not in made and name not in others] == []
