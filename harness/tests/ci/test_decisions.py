from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

from harness.bootstrap import Resamples
from harness.errors import SpecError
from harness.outcome import Estimate, Gate, Verdict
from harness.report.decisions import Profile, _holm, adjusted, decide, detectable, one_sided, profile
from harness.rows import Rows
from harness.tests.validity.synthetic import answered, oracle, right_with, row

GATE = {"name": "right", "metric": "accuracy", "at_least": 50}


def judged(gates: list[dict], outcomes, holm: bool = False):
    chosen = profile({"p": {"holm": holm, "gates": gates}}, "p")
    rows = Rows.of(outcomes)
    return decide(chosen, rows, Resamples.draw(rows, 400))


def test_a_profile_is_a_list_or_says_how_its_gates_are_decided():
    assert profile({"p": [GATE]}, "p").holm is False
    assert profile({"p": {"holm": True, "gates": [GATE]}}, "p").holm is True
    assert profile({"p": [GATE]}, None) == Profile()


def test_an_unknown_profile_names_the_nearest():
    with pytest.raises(SpecError, match="did you mean 'smoke'"):
        profile({"smoke": [GATE]}, "smok")


def test_faults_inside_a_profile_name_their_line():
    lines = {("p", "gates", 0, "metric"): 7}
    with pytest.raises(SpecError, match=r"specs/gates\.yaml:7"):
        profile(
            {"p": {"holm": True, "gates": [{**GATE, "metric": "acuracy"}]}}, "p", line=lambda path: lines.get(path, 1)
        )


def test_every_verdict_says_what_it_could_have_detected():
    verdict = judged([GATE], answered(right_with(0.7), n=20))[0]
    assert "could have detected" in verdict.message
    assert "points (80 % power)" in verdict.message


def test_the_detectable_effect_is_2_80_standard_errors():
    assert detectable(Estimate(50.0, (40.0, 60.0), 20, 40), 5.0) == pytest.approx(14.0, abs=0.05)


def test_without_variance_the_detectable_effect_is_what_n_cannot_exclude():
    assert detectable(Estimate(100.0, (100.0, 100.0), 37, 40), 0.0) == pytest.approx(100 * (1 - 0.025 ** (1 / 37)))


def test_without_variance_the_detectable_effect_is_what_the_clusters_cannot_exclude():
    assert detectable(Estimate(100.0, (100.0, 100.0), 60, 60, n_units=3), 0.0) == pytest.approx(100 * (1 - 0.025 ** (1 / 3)))


def alike(clusters: int, each: int, wrong: int = 0):
    """Instances in clusters whose requests are all alike; the first ``wrong`` clusters are wrong."""
    return [row(instance=f"i{c}-{k}", cluster=f"c{c:02}", choice="B" if c < wrong else "A")
            for c in range(clusters) for k in range(each)]


def test_a_pass_without_variance_rests_on_the_clusters_under_holm():
    gate = {**GATE, "on": "interval", "at_least": 10}
    verdict = judged([gate], alike(3, 20), holm=True)[0]
    assert (verdict.result, "Holm-adjusted p = 0.1250 among 1 verdicts" in verdict.message) == ("undecided", True)


def test_one_cluster_decides_nothing_under_holm():
    assert judged([{**GATE, "on": "interval"}], alike(1, 60), holm=True)[0].result == "undecided"


def test_p_values_have_one_degree_of_freedom_less_than_there_are_clusters():
    """Against a loop over resamples and clusters."""
    rows = Rows.of(alike(6, 10, wrong=4))
    weights = Resamples.draw(rows, 400).weights
    names = [cluster for _, cluster in rows.units]
    drawn = []
    for counts in weights:
        right = sum(n * 10 for n, cluster in zip(counts, names, strict=True) if cluster >= "c04")
        drawn.append(100 * right / sum(n * 10 for n in counts))
    p = stats.t.sf((90 - 100 / 3) / np.std(drawn), 6 - 1)
    message = judged([{**GATE, "at_least": 90}], alike(6, 10, wrong=4), holm=True)[0].message
    assert f"p = {p:.4f} among 1 verdicts" in message


def test_clusters_that_answer_alike_leave_a_failure_undecided_that_free_instances_would_show():
    tied = alike(12, 10, wrong=4)  # 67 %: SE 4 by instances, 14 by clusters
    free = [row(instance=o.instance, choice=o.choice) for o in tied]
    gate = {**GATE, "at_least": 80}
    assert [judged([gate], rows, holm=True)[0].result for rows in (free, tied)] == ["fail", "undecided"]


def test_nothing_is_detectable_without_data():
    assert detectable(Estimate(None, None, 0, 0), 0.0) is None


def test_holm_s_adjustment_is_that_of_the_textbook():
    assert adjusted([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_p_values_of_the_truth_on_the_bound_are_uniform():
    random = np.random.default_rng(1)
    draws = random.standard_normal((4000, 15))
    p = [one_sided(d.mean(), d.std(ddof=1) / np.sqrt(15), 15) for d in draws]
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.05, abs=0.01)


def test_a_narrow_pass_on_the_interval_does_not_survive_many_gates():
    rows = [row(instance=f"i{i}", choice="A" if i % 4 else "B") for i in range(40)]  # 75 %, SE 7
    gate = {**GATE, "at_least": 60, "on": "interval", "min_instances": 2}
    alone = judged([gate], rows, holm=True)
    many = judged([{**gate, "name": f"g{i}"} for i in range(20)], rows, holm=True)
    assert (alone[0].result, {v.result for v in many}) == ("pass", {"undecided"})


def test_a_gate_on_the_estimate_that_is_missed_by_chance_is_undecided_not_failed():
    rows = [row(instance=f"i{i}", choice="A" if i % 2 else "B") for i in range(12)]  # 50 %, SE 14
    gate = {**GATE, "at_least": 55}
    assert (judged([gate], rows)[0].result, judged([gate], rows, holm=True)[0].result) == ("fail", "undecided")


def test_a_clear_failure_stays_a_failure():
    assert judged([{**GATE, "at_least": 95}], answered(right_with(0.3), n=20), holm=True)[0].result == "fail"


def test_a_clear_pass_stays_a_pass_among_sixty_verdicts():
    gates = [{**GATE, "name": f"g{i}", "on": "interval"} for i in range(60)]
    assert {v.result for v in judged(gates, answered(oracle, n=30), holm=True)} == {"pass"}


def test_an_arm_without_usable_replies_fails_under_holm_too():
    rows = [row(instance=f"i{i}", status="truncated") for i in range(10)]
    assert judged([GATE], rows, holm=True)[0].result == "fail"


def test_false_failures_of_many_true_gates_are_rare_under_holm():
    random, wrong = np.random.default_rng(5), 0
    for _ in range(40):
        rows = [
            row(instance=f"i{i}", view=f"v{v}", choice="A" if random.random() < 0.7 else "B")
            for i in range(30)
            for v in range(8)
        ]
        gates = [{**GATE, "at_least": 70, "where": {"view": "*"}}]
        wrong += any(v.result == "fail" for v in judged(gates, rows, holm=True))
    assert wrong <= 4


def interval_verdict(values: np.ndarray, bound: float, on: str = "interval") -> tuple[Verdict, np.ndarray]:
    """Of a gate that asks for at least ``bound``, on instances with these values, and what was resampled."""
    value, error = float(values.mean()), float(values.std(ddof=1)) / np.sqrt(len(values))
    low, high = value - 1.96 * error, value + 1.96 * error
    good = (low if on == "interval" else value) >= bound
    gate = Gate("g", "accuracy", at_least=bound, on=on)
    estimate = Estimate(value, (low, high), len(values), len(values))
    return Verdict(gate, "m", "pass" if good else "fail", estimate, ""), value + error * NORMAL


NORMAL = np.array([NormalDist().inv_cdf((i + 0.5) / 400) for i in range(400)])
NORMAL /= NORMAL.std()


@pytest.mark.parametrize("on, false", [("interval", "pass"), ("estimate", "fail")])
def test_one_false_decision_or_more_among_twenty_gates_is_rarer_than_one_in_twenty_under_holm(on, false):
    """All truths lie on the bound."""
    random, families, wrong = np.random.default_rng(7), 400, 0
    for _ in range(families):
        made = [interval_verdict(50 + 20 * random.standard_normal(30), 50, on) for _ in range(20)]
        wrong += any(v.result == false for v in _holm([v for v, _ in made], [drawn for _, drawn in made]))
    assert wrong / families <= 0.05


def test_holm_counts_the_verdicts_that_were_not_decided_too():
    """The evidence of one pass is p = 0.0116; two other gates are missed, so that the smallest of three p is tripled."""
    values = np.array([0.0, 100.0] * 10)
    shift = 2.47 * values.std(ddof=1) / np.sqrt(20)  # t(19) leaves 0.0116 above
    made = [interval_verdict(values, 50 - shift), interval_verdict(values, 60), interval_verdict(values, 60)]
    alone, among = (_holm([v for v, _ in part], [d for _, d in part]) for part in (made[:1], made))
    assert ([v.result for v in alone], [v.result for v in among]) == (["pass"], ["undecided", "fail", "fail"])
    assert "Holm-adjusted p = 0.0116 among 1 verdicts" in alone[0].message
    assert "Holm-adjusted p = 0.0347 among 3 verdicts" in among[0].message
