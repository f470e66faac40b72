from __future__ import annotations

import json
import random
import re
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from harness.bootstrap import Resamples
from harness.errors import SpecError
from harness.gates import evaluate, failed, gates_of
from harness.outcome import Gate
from harness.rows import Rows
from harness.tests.validity.synthetic import answered, oracle, right_with, row, with_confidence
from harness.yamlfile import check_schema, read_yaml

SPECS = Path(__file__).parents[3] / "specs"


def judged(gate: Gate, outcomes, models=()):
    rows = Rows.of(outcomes)
    return evaluate([gate], rows, Resamples.draw(rows, 500), models)


def verdict(gate: Gate, outcomes):
    (one,) = judged(gate, outcomes)
    return one


def right(n: int, wrong: int = 0, **columns):
    return [row(instance=f"i{i:03}", choice="A" if i < n else "B", **columns) for i in range(n + wrong)]


def test_a_bound_on_the_estimate_that_is_kept_passes():
    assert verdict(Gate("g", "accuracy", at_least=80), right(8, 2)).result == "pass"


def test_a_failed_gate_says_expected_found_interval_and_n():
    message = verdict(Gate("g", "accuracy", at_least=90), right(80, 20)).message
    assert message.startswith("expected accuracy at least 90 % on the estimate, found 80.0 [7")
    assert message.endswith("] (n = 100 instances, 100 requests)")


def test_a_score_is_told_with_three_decimals():
    rows = with_confidence(right(12, 4), lambda o: 0.81 if o.correct else 0.62)
    said = verdict(Gate("g", "brier", at_most=0.2, on="interval", min_instances=2), rows).message
    assert re.search(r"at most 0\.2 score on the interval, found 0\.246 \[0\.\d{3}, 0\.\d{3}\] \(n = 16", said)


def test_a_bound_on_the_interval_takes_the_end_that_is_harder_to_pass():
    outcomes = right(80, 20)  # about 72 to 88
    results = [
        verdict(Gate("g", "accuracy", on="interval", **bound), outcomes).result
        for bound in ({"at_least": 78}, {"at_least": 65}, {"at_most": 82}, {"at_most": 95})
    ]
    assert results == ["fail", "pass", "fail", "pass"]


def clustered(clusters: int, each: int, wrong: tuple[int, ...] = ()):
    """All requests of a cluster alike."""
    return [row(instance=f"i{c}-{k}", cluster=f"c{c}", choice="B" if c in wrong else "A")
            for c in range(clusters) for k in range(each)]


def test_no_variance_among_three_clusters_is_judged_by_three_and_not_by_sixty_instances():
    found = verdict(Gate("g", "accuracy", at_least=90, on="interval"), clustered(3, 20))
    assert found.result == "fail"
    assert found.message.endswith(  # 100 x 0.025^(1/3) = 29.24
        "found 100.0 [100.0, 100.0] (n = 60 instances in 3 clusters, 60 requests); without variance among clusters the "
        "interval is taken as [29.2, 100.0]")


def test_one_cluster_is_undecided_on_the_interval_however_many_instances_it_has():
    found = verdict(Gate("g", "accuracy", at_least=50, on="interval"), clustered(1, 60))
    assert (found.result, found.message) == (
        "undecided", "100.0 (n = 60 instances in 1 cluster, 60 requests) has no interval: too few instances with data")


def test_clusters_that_answer_alike_widen_the_interval_that_a_gate_judges():
    tied = clustered(12, 10, wrong=(0, 1))  # 83 %: by instances [77, 90], by clusters [58, 100]
    free = [row(instance=o.instance, choice=o.choice) for o in tied]
    gate = Gate("g", "accuracy", at_least=70, on="interval")
    assert (verdict(gate, free).result, verdict(gate, tied).result) == ("pass", "fail")


def test_both_bounds_hold_at_once():
    assert [
        verdict(Gate("g", "position_preference", at_least=40, at_most=60), right(n, 10 - n, first="A")).result
        for n in (3, 5, 8)
    ] == ["fail", "pass", "fail"]


def test_perfection_of_few_instances_does_not_pass_a_strict_bound_on_the_interval():
    # without variance the percentile interval has no width; 1 - 0.025^(1/10) = 31 % could still differ
    gate = Gate("g", "accuracy", at_least=95, on="interval")
    assert [verdict(gate, right(n)).result for n in (10, 100)] == ["fail", "pass"]


def test_too_few_instances_are_undecided():
    found = verdict(Gate("g", "accuracy", at_least=50, min_instances=20), right(10))
    assert (found.result, found.message) == ("undecided", "n = 10 instances, at least 20 are needed")


def test_an_interval_that_cannot_be_had_is_undecided():
    assert verdict(Gate("g", "accuracy", at_least=50, on="interval"), [row()]).result == "undecided"


def test_a_metric_that_was_not_measured_is_undecided_and_says_so():
    found = verdict(Gate("g", "d_scope", at_least=50), right(10))
    assert (found.result, "found no data for d_scope among 10 requests: it was not measured" in found.message) == (
        "undecided",
        True,
    )


def test_a_filter_that_no_request_passes_is_undecided():
    found = verdict(Gate("g", "accuracy", {"view": "plot_ev"}, at_least=1), right(10))
    assert (found.result, "no request with view=plot_ev" in found.message) == ("undecided", True)


def test_a_missing_arm_of_a_list_never_passes():
    found = verdict(Gate("g", "accuracy", {"view": ["table_nm", "plot_nm"]}, at_least=1), right(10))
    assert (found.result, found.message) == ("undecided", "no request has view=plot_nm: this arm was not measured")


def test_a_model_without_any_outcome_is_undecided_and_not_absent():
    found = judged(Gate("g", "accuracy", at_least=1), right(3), models=("m", "silent"))
    assert [(v.model, v.result) for v in found] == [("m", "pass"), ("silent", "undecided")]


def test_a_run_without_outcomes_is_undecided():
    assert [(v.model, v.result) for v in judged(Gate("g", "accuracy", at_least=1), [])] == [("(no model)", "undecided")]


@pytest.mark.parametrize(
    "metric, bound",
    [("high_confidence_errors", {"at_most": 5}), ("delta_out", {"at_least": -5}), ("abstention_rate", {"at_most": 5})],
)
def test_an_arm_of_errors_only_fails_where_its_number_would_pass(metric, bound):
    outcomes = with_confidence(answered(oracle, n=4, scope=True), lambda o: 0.99)
    broken = [
        row(**{**o.to_row(), "status": "provider_error", "correct": None, "abstained": None, "choice": None})
        if o.view == "plot_nm"
        else o
        for o in outcomes
    ]
    found = verdict(Gate("g", metric, **bound), broken)
    assert (found.result, "scope in plot_nm has no usable reply" in found.message) == ("fail", True)


def test_attrition_itself_is_judged_by_its_bound():
    assert verdict(Gate("g", "attrition", at_most=100), [row(status="unparsed")]).result == "pass"


def test_lost_requests_are_undecided():
    found = verdict(Gate("g", "accuracy", at_least=1), [*right(9), row(instance="i9", status="lost")])
    assert (found.result, "1 of 10 requests were lost" in found.message) == ("undecided", True)


def test_a_task_that_always_fails_is_named_where_a_mean_hides_it():
    outcomes = [*right(90), *right(0, 10, task="threshold")]
    found = verdict(Gate("g", "accuracy", at_least=80), outcomes)
    assert (found.result, "farthest from ideal: threshold 0.0" in found.message) == ("pass", True)


def test_a_star_gives_one_verdict_for_each_value():
    outcomes = [*right(90), *right(0, 10, task="threshold")]
    found = judged(Gate("g", "accuracy", {"task": "*"}, at_least=80), outcomes)
    assert [(v.gate.name, v.result) for v in found] == [("g [task=compare]", "pass"), ("g [task=threshold]", "fail")]


def test_a_star_without_any_value_is_undecided():
    assert [v.result for v in judged(Gate("g", "accuracy", {"view": "*", "task": "none"}, at_least=1), right(2))] == [
        "undecided"
    ]


def test_a_star_gives_the_reference_of_a_comparison_no_verdict():
    gate = Gate("g", "paired_difference", {"view": "*"}, at_least=-10)
    found = judged(gate, answered(oracle, n=4, views=("table_nm", "table_ev", "plot_ev")))
    assert [(v.gate.name, v.result) for v in found] == [("g [view=plot_ev]", "pass"), ("g [view=table_ev]", "pass")]


@pytest.mark.parametrize("status, result", [("lost", "undecided"), ("unparsed", "fail")])
def test_a_reference_that_was_lost_or_never_readable_is_judged_all_the_same(status, result):
    gate = Gate("g", "paired_difference", {"view": "*"}, at_least=-10)
    outcomes = [row(instance=f"i{i}", view=v, status=status if v == "table_nm" else "usable")
                for i in range(9) for v in ("table_nm", "table_ev")]
    assert [v.result for v in judged(gate, outcomes) if "table_nm" in v.gate.name] == [result]


def test_a_run_of_the_reference_alone_is_undecided():
    gate = Gate("g", "paired_difference", {"view": "*"}, at_least=-10)
    assert [(v.gate.name, v.result) for v in judged(gate, right(9))] == [("g", "undecided")]


def test_a_star_on_a_fact_that_no_request_has_is_undecided():
    (found,) = judged(Gate("g", "accuracy", {"facts.x": "*"}, at_least=1), right(9))
    assert (found.result, "found no request with facts.x=*: it was not measured" in found.message) == ("undecided", True)


def test_a_star_on_a_fact_gives_no_verdict_to_the_requests_without_it():
    outcomes = [*right(9), *right(9, spec="t", facts={"x": "a"})]
    assert [v.gate.name for v in judged(Gate("g", "accuracy", {"facts.x": "*"}, at_least=1), outcomes)] == ["g [facts.x=a]"]


def test_lost_requests_whose_fact_is_unknown_are_undecided():
    outcomes = [*right(9, facts={"x": "a"}), row(instance="i9", status="lost")]
    found = judged(Gate("g", "accuracy", {"facts.x": "*"}, at_least=1), outcomes)
    assert [(v.gate.name, v.result) for v in found] == [("g [facts.x=None]", "undecided"), ("g [facts.x=a]", "pass")]


def test_pooled_kinds_of_probability_are_undecided_with_the_reason():
    outcomes = [
        row(confidence=0.9, probability_kind="readout"),
        row(instance="i1", confidence=0.9, probability_kind="self-reported"),
    ]
    found = verdict(Gate("g", "high_confidence_errors", at_most=5), outcomes)
    assert (found.result, "never pooled" in found.message) == ("undecided", True)


def test_consistent_but_wrong_answers_do_not_pass_for_invariance():
    outcomes = [row(instance=f"i{i}", view=v, choice="B") for i in range(9) for v in ("table_nm", "table_ev")]
    assert verdict(Gate("g", "all_correct", at_least=50), outcomes).result == "fail"


def test_verdicts_do_not_depend_on_the_order_of_the_outcomes():
    outcomes = answered(right_with(0.7), n=8) + answered(right_with(0.5), n=8, scope=True, spec="scope")
    profile = gates_of(yaml.safe_load((SPECS / "gates.yaml").read_text()))["ci"]
    found = []
    for seed in range(2):
        rows = Rows.of(random.Random(seed).sample(outcomes, len(outcomes)))
        found.append(evaluate(profile, rows, Resamples.draw(rows, 200)))
    assert found[0] == found[1]


def test_undecided_counts_as_failed_unless_the_gate_allows_it():
    strict, lax = Gate("strict", "d_scope", at_least=0), Gate("lax", "d_scope", at_least=0, undecided="pass")
    rows = Rows.of(right(3))
    found = evaluate([strict, lax, Gate("bad", "accuracy", at_most=1)], rows, Resamples.draw(rows, 10))
    assert [v.gate.name for v in failed(found)] == ["strict", "bad"]


# -- declarations --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def schema():
    return json.loads((SPECS / "schema" / "gates.schema.json").read_text())


def test_the_shipped_profiles_fit_the_schema_and_load(schema):
    shipped = yaml.safe_load((SPECS / "gates.yaml").read_text())
    Draft202012Validator(schema).validate(shipped)
    assert list(gates_of(shipped)) == ["smoke", "ci", "oracle", "sufficiency", "oracle-sufficiency"]


def test_the_oracle_passes_the_profile_made_for_it():
    outcomes = answered(oracle, n=6) + answered(oracle, n=6, scope=True, spec="scope")
    rows = Rows.of(outcomes)
    profiles = gates_of(yaml.safe_load((SPECS / "gates.yaml").read_text()))
    assert failed(evaluate(profiles["oracle"], rows, Resamples.draw(rows, 100))) == []


def test_a_plain_on_is_explained_where_the_declaration_is_read(schema, tmp_path):
    file = tmp_path / "gates.yaml"
    file.write_text("h:\n  - {name: g, metric: accuracy, at_least: 1}\n  - name: f\n    metric: accuracy\n    at_least: 1\n"
                    "    on: interval\n", "utf-8")
    assert [(p.line, p.message) for p in check_schema(read_yaml(file), schema)] == [
        (6, 'plain on, yes and true are read as true; write the name in quotes, e.g. "on"')
    ]


def test_the_schema_describes_exactly_the_properties_of_a_gate(schema):
    properties = schema["$defs"]["gate"]["properties"]
    assert sorted(properties) == sorted(f.name for f in fields(Gate))
    assert all(p["description"] for p in properties.values())


@pytest.mark.parametrize(
    "entry, message",
    [
        (
            {"name": "g", "metric": "acuracy", "at_least": 1},
            r"ci\.0\.metric: 'acuracy' is not a metric; did you mean 'acc",
        ),
        ({"name": "g", "metric": "accuracy"}, r"ci\.0: at_least or at_most must be given"),
        (
            {"name": "g", "metric": "accuracy", "atleast": 1},
            "'atleast' is not a property of a gate; did you mean 'at_least'",
        ),
        ({"name": "g", "metric": "accuracy", "at_least": "5"}, r"ci\.0\.at_least: '5' is not a number"),
        ({"name": "g", "metric": "accuracy", "at_least": float("nan")}, "nan is not a number"),
        ({"name": "g", "metric": "accuracy", "at_least": 9, "at_most": 1}, "9 is above at_most 1; nothing could pass"),
        ({"name": "g", "metric": "accuracy", "at_least": 1, "where": {"veiw": "x"}}, "'veiw' is not a column.*'view'"),
        (
            {"name": "g", "metric": "accuracy", "at_least": 1, "on": "mean"},
            "'mean' is not allowed; valid: estimate, interval",
        ),
        ({"name": "g", "metric": "accuracy", "at_least": 1, True: "interval"}, 'write "on" in quotes'),
        ({"name": "g", "metric": "accuracy", "at_least": 1, "min_instances": 0}, "0 is not a positive integer"),
        ({"metric": "accuracy", "at_least": 1}, r"ci\.0: name must be given"),
        ({"name": "g", "metric": "accuracy", "at_least": 1, "where": "table"}, "'table' is not a mapping of columns"),
        ({"name": "g", "metric": "accuracy", "at_least": 1, "where": {"view": {"a": 1}}}, "neither a value nor a list"),
        (7, "7 is not a gate"),
    ],
)
def test_a_faulty_gate_is_refused_with_its_place(entry, message):
    with pytest.raises(SpecError, match=message):
        gates_of({"ci": [entry]})


@pytest.mark.parametrize("profiles, message", [
    ([], r"\[\] is not a mapping of profiles"), ({"ci": {}}, "ci: {} is not a list of gates")])
def test_profiles_of_another_shape_are_refused(profiles, message):
    with pytest.raises(SpecError, match=message):
        gates_of(profiles)


def test_several_faults_come_together_with_their_lines():
    gates = {"ci": [{"name": "a", "metric": "x", "at_least": 1}, {"name": "b", "metric": "accuracy"}]}
    with pytest.raises(SpecError) as caught:
        gates_of(gates, "specs/gates.yaml", lambda path: 10 + path[1])
    assert [(p.line, p.path) for p in caught.value.problems] == [(10, "ci.0.metric"), (11, "ci.1")]


def test_two_gates_of_one_name_are_refused():
    gate = {"name": "a", "metric": "accuracy", "at_least": 1}
    with pytest.raises(SpecError, match="'a' is used twice"):
        gates_of({"ci": [gate, gate]})
