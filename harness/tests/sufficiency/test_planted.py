"""Scripted models of known self-knowledge, asked through the whole chain: the metrics find what was planted."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from harness import classify
from harness.backends.base import create
from harness.backends.config import ModelConfig
from harness.bootstrap import Resamples
from harness.build import Asked, Selection, family
from harness.metrics.metric import load as metric
from harness.outcome import Estimate, Outcome
from harness.readouts.permute import read
from harness.rows import Rows
from harness.spec import load

SPECS = Path(__file__).parents[3] / "specs" / "sufficiency"
MODELS = {
    "copy": {"behaviour": "copy_answer", "change": 0.3},
    "ideal": {"behaviour": "ideal_self_knower", "change": 0.3},
    "over": {"behaviour": "over_claimer", "change": 0.3, "hit": 0.25},
    "under": {"behaviour": "under_claimer", "change": 0.3, "alarm": 0.4},
    "sloppy": {"behaviour": "ideal_self_knower", "change": 0.3, "moved": 0.1, "sloppy": 0.15},
}


@cache
def asked() -> tuple[Rows, Resamples]:
    """Every model on max-flow, whose answers no input changes by itself, and on films; pictures are not needed."""
    outcomes: list[Outcome] = []
    for name in ("maxflow", "mmimdb"):
        spec = load(SPECS / f"{name}.yaml")
        built = type(family(spec))(spec)  # its own: the next line must not reach other tests
        built._parts = lambda pair, name: ()  # scripted models look at the truth alone
        for model, options in MODELS.items():
            backend = create(ModelConfig(name=model, backend="scripted", options=options))
            for key in built.keys(Selection()):
                request = built.build(replace(key, model=model), Asked(model))
                reply = backend.answer(request)
                outcomes.append(classify.outcome(request, [reply], read([(request, reply)]), dataset=built.data.name,
                                                 view=spec.view(key.view)))
    rows = Rows.of(outcomes)
    return rows, Resamples.draw(rows, 1000)


def estimate(name: str, model: str, spec: str = "maxflow") -> Estimate:
    rows, resamples = asked()
    return resamples.estimate(metric(name), rows.where(model=model, spec=spec))


@pytest.mark.parametrize("spec", ["maxflow", "mmimdb"])
@pytest.mark.parametrize(
    ("model", "name", "expected"),
    [
        ("copy", "predicted_change", 0.0),
        ("copy", "insufficient_share", 0.0),
        ("copy", "insufficiency_recall", 0.0),
        ("copy", "insufficiency_precision", None),
        ("copy", "stated_either", 100.0),
        ("ideal", "calibration_gap", 0.0),
        ("ideal", "insufficiency_precision", 100.0),
        ("ideal", "insufficiency_recall", 100.0),
        ("ideal", "silent_failures", 0.0),
        ("ideal", "claim_accuracy", 100.0),
        ("ideal", "attribution_agreement", 100.0),
        ("ideal", "assessment_cost", 0.0),
        ("ideal", "attrition", 0.0),
        ("over", "insufficiency_precision", 100.0),
        ("under", "insufficiency_recall", 100.0),
        ("under", "silent_failures", 0.0),
    ],
)
def test_what_a_behaviour_fixes_is_found_exactly(spec: str, model: str, name: str, expected: float | None) -> None:
    assert expected == estimate(name, model, spec).value


@pytest.mark.parametrize(("model", "name", "planted"), [
    ("copy", "executed_change", 30.0), ("copy", "calibration_gap", 30.0), ("copy", "silent_failures", 30.0),
    ("ideal", "predicted_change", 30.0), ("over", "insufficiency_recall", 25.0), ("over", "predicted_change", 7.5),
    ("over", "calibration_gap", 22.5), ("over", "silent_failures", 22.5),
    ("under", "calibration_gap", -28.0), ("under", "insufficiency_precision", 100 * 0.3 / (0.3 + 0.7 * 0.4)),
    ("ideal", "executed_either", 49.0), ("ideal", "executed_neither", 9.0),
])
def test_a_planted_rate_lies_inside_the_interval(model: str, name: str, planted: float) -> None:
    found = estimate(name, model)
    assert found.interval is not None
    assert found.interval[0] <= planted <= found.interval[1]


def test_a_prompt_that_moves_answers_costs_accuracy_and_shows_as_moved() -> None:
    rows, resamples = asked()
    chosen = rows.where(model="sloppy", spec="maxflow")
    moved = resamples.estimate(metric("answer_moved"), chosen)
    cost = resamples.estimate(metric("assessment_cost"), chosen)
    assert moved.interval[0] <= 10.0 <= moved.interval[1]
    assert cost.interval[1] < 0


def test_miswritten_labels_are_lost_and_counted_by_kind() -> None:
    rows, resamples = asked()
    chosen = rows.where(model="sloppy", spec="maxflow", template="assessment")
    lost = resamples.estimate(metric("attrition"), chosen)
    assert lost.interval[0] <= 15.0 <= lost.interval[1]
    assert {"bare_value", "label_prose"} == {k for o in chosen.outcomes for k in o.near_misses}


def test_models_of_one_seed_misread_the_same_items() -> None:
    rows, _ = asked()
    answers = [
        [o.choice for o in rows.where(model=m, spec="mmimdb", template="plain").outcomes] for m in ("copy", "over")
    ]
    assert answers[0] == answers[1]
