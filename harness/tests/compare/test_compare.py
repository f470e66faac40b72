from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from harness.bootstrap import Resamples
from harness.cli import compare as command
from harness.compare import pages
from harness.compare.arms import arms_of, comparisons, matched
from harness.compare.paired import compare, flips
from harness.errors import RunError
from harness.metrics.metric import load
from harness.report.recorded import Recorded
from harness.report.run import OutcomeLog, write_run
from harness.rows import Rows
from harness.tests.validity.synthetic import answered, oracle, right_with, row

RUN = {"id": "a", "seed": 3, "resamples": 400, "specs": {"s": {"sha256": "1", "version": 1}}, "models": {}}


def run_folder(folder: Path, outcomes, **more) -> Path:
    write_run(folder, {**RUN, "id": folder.name, **more}, [o.key for o in outcomes])
    with OutcomeLog(folder) as log:
        for o in outcomes:
            log.append(o)
    return folder


def arms(**outcomes):
    runs = [(Recorded({**RUN, "id": name}, tuple(rows)), None) for name, rows in outcomes.items()]
    return arms_of(runs)


def hashed(outcomes, salt: str = ""):
    return [
        replace(o, request_sha256=hashlib.sha256(f"{o.instance} {o.variant} {o.view} {salt}".encode()).hexdigest())
        for o in outcomes
    ]


def call(*words: str) -> int:
    import argparse

    parser = argparse.ArgumentParser()
    command.arguments(parser)
    return command.run(parser.parse_args(words))


def by_metric(found, metric: str):
    return next(d for d in found.summary if d.metric == metric)


def test_a_difference_is_that_of_the_values_on_shared_requests():
    found = compare(matched(arms(a=answered(oracle, n=8), b=answered(right_with(0.5), n=8))), resamples=300)
    d = by_metric(found, "accuracy")
    assert d.change.value == pytest.approx(d.other.value - d.reference.value)
    assert d.change.interval[0] < d.change.value < d.change.interval[1]
    assert d.worse


def test_two_runs_that_decide_alike_do_not_differ():
    same = answered(right_with(0.6), n=6)
    found = compare(matched(arms(a=same, b=same)), resamples=200)
    assert {d.change.value for d in found.summary} == {0.0}
    assert not any(d.significant for d in found.summary)
    assert found.flips == ()


def test_the_interval_is_paired_and_clustered_by_instance():
    """Equal to resampling the per-instance differences themselves."""
    a, b = answered(right_with(0.8), n=12), answered(right_with(0.6), n=12, model="m2")
    found = compare(matched(arms(a=a, b=b)), seed=5, resamples=500, metrics=["accuracy"])
    rows = Rows.of(a)
    weights = Resamples.draw(rows, 500, 5).weights
    now = {o.key.rsplit("/", 1)[0]: bool(o.correct) for o in b}
    gain = np.array([now[o.key.rsplit("/", 1)[0]] - float(bool(o.correct)) for o in rows.outcomes])
    sums = np.bincount(rows.unit, gain, len(rows.units))
    drawn = 100 * weights @ sums / (weights @ np.bincount(rows.unit, minlength=len(rows.units)))
    assert by_metric(found, "accuracy").change.interval == pytest.approx(tuple(np.quantile(drawn, (0.025, 0.975))))


def in_clusters(clusters: int, each: int, right: tuple[int, ...]):
    """All requests of a cluster alike: right in these clusters, wrong in the others."""
    return [
        row(instance=f"i{c}-{k}", cluster=f"c{c}", choice="A" if c in right else "B")
        for c in range(clusters)
        for k in range(each)
    ]


def test_one_cluster_gives_a_difference_without_interval_or_p_value():
    found = compare(arms(a=in_clusters(1, 20, (0,)), b=in_clusters(1, 20, ())), resamples=200, metrics=["accuracy"])
    d = by_metric(found, "accuracy")
    assert (d.change.value, d.change.interval, d.p, d.detectable, d.worse) == (-100.0, None, None, None, False)


def test_one_cluster_that_got_worse_is_no_evidence_of_a_change(tmp_path, capsys):
    base = tmp_path / "base.json"
    call("--save-baseline", str(base), str(run_folder(tmp_path / "a", hashed(in_clusters(1, 20, (0,))))))
    worse = run_folder(tmp_path / "b", hashed(in_clusters(1, 20, ())))
    assert call("--against", str(base), str(worse), "--metric", "accuracy", "--out", str(tmp_path / "c")) == 1
    said = capsys.readouterr().out
    assert ("FAIL m: no metric could be tested" in said, "worse beyond chance" in said) == (True, False)


def test_p_values_of_differences_rest_on_clusters():
    """Against a loop: six clusters of four instances, two of which turn wrong and one right."""
    a, b = in_clusters(6, 4, (0, 1, 2, 3)), in_clusters(6, 4, (2, 3, 4))
    found = by_metric(compare(arms(a=a, b=b), seed=2, resamples=300, metrics=["accuracy"]), "accuracy")
    gain = {"c0": -1, "c1": -1, "c2": 0, "c3": 0, "c4": 1, "c5": 0}
    rows = Rows.of(a)
    drawn = []
    for counts in Resamples.draw(rows, 300, 2).weights:
        drawn.append(100 * sum(n * gain[c] for n, (_, c) in zip(counts, rows.units, strict=True)) / 6)
    assert found.change.value == pytest.approx(-100 / 6)
    assert found.p == pytest.approx(2 * stats.t.sf(100 / 6 / np.std(drawn), 5))


def test_without_variance_the_p_value_is_the_sign_test_s_of_the_clusters():
    found = compare(arms(a=in_clusters(4, 20, (0, 1, 2, 3)), b=in_clusters(4, 20, ())), resamples=100)
    assert by_metric(found, "accuracy").p == 2 * 0.5**4


def test_clusters_that_answer_alike_widen_the_interval_of_a_difference():
    a, b = in_clusters(9, 12, tuple(range(9))), in_clusters(9, 12, (0, 1, 2))
    widths = []
    for names in (lambda o: o, lambda o: replace(o, cluster="")):
        found = compare(arms(a=list(map(names, a)), b=list(map(names, b))), resamples=400, metrics=["accuracy"])
        low, high = by_metric(found, "accuracy").change.interval
        widths.append(high - low)
    assert widths[0] > 2.5 * widths[1]  # all 12 instances alike: sqrt(12) = 3.5 times


def test_a_metric_that_one_arm_has_no_data_for_has_no_difference():
    asked = answered(right_with(0.7), n=4)
    lost = [replace(o, status="lost", choice=None, correct=None) for o in asked]
    found = compare(arms(a=asked, b=lost), resamples=50)
    assert [d.metric for d in found.summary] == []


def test_the_same_seed_gives_the_same_comparison_and_another_seed_another():
    a, b = answered(right_with(0.8), n=6), answered(right_with(0.6), n=6)
    one, again, other = (compare(arms(a=a, b=b), seed, 200, ["accuracy"]) for seed in (1, 1, 2))
    assert (one.summary == again.summary, one.summary == other.summary) == (True, False)


def test_a_comparison_says_in_how_many_clusters_its_instances_stand():
    found = compare(arms(a=in_clusters(3, 20, (0,)), b=in_clusters(3, 20, (1,))), resamples=50)
    assert "60 shared requests of 60 instances in 3 clusters;" in pages.text([found], "t")


def comparisons_of(firsts: int, n: int = 100):
    """Questions whose first evidence is chosen in the first so many of ``n``; it is right in every other one."""
    return [
        row(instance=f"i{i:03}", first="A", choice="A" if i < firsts else "B", expected="AB"[i % 2]) for i in range(n)
    ]


def test_a_value_that_crosses_its_ideal_is_judged_by_its_distance_from_it():
    """40 -> 61 with the ideal 50: the value moves by 21 points, the distance from 10 to 11."""
    a, b = comparisons_of(40), comparisons_of(61)
    d = by_metric(compare(arms(a=a, b=b), resamples=500, metrics=["position_preference"]), "position_preference")
    assert (d.reference.value, d.other.value, d.change.value) == pytest.approx((40, 61, 21))
    assert (d.distance, d.nearer, d.worse) == (pytest.approx(1), False, False)
    assert pages.mark(d) == "not shown to be nearer or farther"


def test_the_change_of_the_distance_is_tested_on_the_resamples():
    """Against a loop over resamples: 40 -> 75 %, 15 points farther from 50."""
    found = compare(
        arms(a=comparisons_of(40), b=comparisons_of(75)), seed=4, resamples=300, metrics=["position_preference"]
    )
    d = by_metric(found, "position_preference")
    drawn = []
    for counts in Resamples.draw(Rows.of(comparisons_of(40)), 300, 4).weights:
        was, now = (sum(n for i, n in enumerate(counts) if i < firsts) for firsts in (40, 75))
        drawn.append(abs(now - 50) - abs(was - 50))
    assert d.distance == pytest.approx(15)
    assert d.p == pytest.approx(2 * stats.t.sf(15 / np.std(drawn), 99))


def test_values_equally_far_from_the_ideal_on_both_sides_do_not_differ_in_distance():
    d = by_metric(compare(arms(a=comparisons_of(20), b=comparisons_of(80)), resamples=200), "position_preference")
    assert (d.distance, d.nearer, d.adjusted_p) == (0.0, None, 1.0)


def test_two_models_at_the_ideal_rarely_seem_to_differ_in_distance():
    """Distances are folded there, which must not make chance look like a change."""
    random, found = np.random.default_rng(0), 0
    for _ in range(100):
        a, b = ([o if random.random() < 0.5 else replace(o, choice="B") for o in comparisons_of(60, 60)] for _ in "ab")
        d = by_metric(compare(arms(a=a, b=b), resamples=200, metrics=["position_preference"]), "position_preference")
        found += d.p < 0.05
    assert found <= 10


def test_max_drop_is_a_drop_towards_the_far_side_of_the_ideal_and_no_crossing(tmp_path):
    base = tmp_path / "base.json"
    call("--save-baseline", str(base), str(run_folder(tmp_path / "a", hashed(comparisons_of(40)))))
    words = ("--against", str(base), "--metric", "position_preference", "--max-drop", "5", "--out", str(tmp_path / "c"))
    crossed, farther = (run_folder(tmp_path / f"b{n}", hashed(comparisons_of(n))) for n in (61, 66))
    assert (call(*words, str(crossed)), call(*words, str(farther))) == (0, 1)


def test_a_metric_without_an_ideal_is_not_said_to_show_no_difference():
    a = [row(instance=f"i{i}", choice="A") for i in range(20)]
    b = [row(instance=f"i{i}", choice="undetermined" if i % 3 else "A") for i in range(20)]
    d = by_metric(compare(arms(a=a, b=b), resamples=200, metrics=["abstention_rate"]), "abstention_rate")
    assert (d.change.interval[0] > 0, pages.mark(d)) == (True, "")


def probes(flipped: int, model: str = "m", n: int = 10):
    """Questions and their probes of the interface, the first ``flipped`` of which choose otherwise."""
    return [
        row(instance=f"i{i}", variant=variant, model=model, core=not probe, choice="B" if probe and i < flipped else "A")
        for i in range(n)
        for probe, variant in enumerate(("v0", "v0+letters"))
    ]


def test_the_metrics_of_the_interface_are_compared_as_they_are_alone():
    rows = Rows.of(probes(5))
    alone = Resamples.draw(rows, 100, 3).estimate(load("interface_flips"), rows)
    found = compare(matched(arms(a=probes(5), b=probes(2))), seed=3, resamples=100)
    flipped = by_metric(found, "interface_flips")
    assert (flipped.reference, flipped.other.value) == (alone, 20.0)
    assert by_metric(found, "interface_effect").change.value == 30.0


def test_models_whose_names_hold_slashes_are_compared_as_any_other():
    found = compare(matched(arms(a=probes(5, "org/one"), b=probes(2, "org/one"))), resamples=50)
    assert by_metric(found, "interface_flips").change.value == -30.0


def test_a_baseline_of_a_model_whose_name_holds_slashes_keeps_its_interface_metrics(tmp_path, capsys):
    base = tmp_path / "base.json"
    call("--save-baseline", str(base), str(run_folder(tmp_path / "a", hashed(probes(0, "org/one")))))
    worse = run_folder(tmp_path / "b", hashed(probes(9, "org/one")))
    assert call("--against", str(base), str(worse), "--metric", "interface_flips", "--out", str(tmp_path / "c")) == 1
    assert "interface_flips on s (org/one): 0.0 -> 90.0" in capsys.readouterr().out


def test_requests_that_only_one_run_has_are_left_out_and_counted():
    everything = answered(oracle, n=4)
    found = matched(arms(a=everything, b=everything[:10]))
    assert [(len(a.outcomes), a.left_out) for a in found] == [(10, len(everything) - 10), (10, 0)]


def test_different_prompts_are_refused_and_the_first_difference_is_named():
    rows = hashed(answered(oracle, n=2))
    other = [replace(o, readout="option_letters", request_sha256="f" * 64) for o in rows]
    with pytest.raises(RunError, match=r"compare/.*readout 'decision' against 'option_letters'.*--match instances"):
        matched(arms(a=[replace(o, readout="decision") for o in rows], b=other))


def test_the_first_difference_of_kept_requests_is_shown_in_their_words(tmp_path):
    """What each run was shown stands in its folder; a baseline or a run from elsewhere has the hashes alone."""
    rows = hashed([row(choice="A")])
    other = hashed([row(choice="A")], "other")
    runs = []
    for name, outcomes, text in (("a", rows, "x,y\n1,2\n"), ("b", other, "x,y\n1,3\n")):
        folder = tmp_path / name
        folder.mkdir()
        lines = [{"text": f"sha of {text}", "is": text},
                 {"request": outcomes[0].request_sha256, "question": "Which?", "evidence": [{"text": f"sha of {text}"}]}]
        (folder / "requests.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        runs.append((Recorded({**RUN, "id": name}, tuple(outcomes)), folder))
    with pytest.raises(RunError, match=r"evidence, at character 9: .*1,2.* against .*1,3"):
        matched(arms_of(runs))
    with pytest.raises(RunError, match=f"their requests have the hashes {rows[0].request_sha256[:12]} and "):
        matched(arms(a=rows, b=other))


def sampled(folder: Path, sampling: dict, question: str = "Which?"):
    """A run of one request, kept with how it was sampled."""
    outcome = replace(row(), request_sha256=hashlib.sha256(f"{sampling} {question}".encode()).hexdigest())
    folder.mkdir()
    content = {"request": outcome.request_sha256, "question": question, "evidence": [], "sampling": sampling}
    (folder / "requests.jsonl").write_text(json.dumps(content) + "\n")
    return Recorded({**RUN, "id": folder.name}, (outcome,)), folder


def test_models_that_were_sampled_differently_are_compared_and_the_sampling_is_noted(tmp_path):
    cold, warm = sampled(tmp_path / "cold", {"temperature": 0}), sampled(tmp_path / "warm", {"temperature": 1})
    assert [a.note for a in matched(arms_of([cold, warm]))] == [
        "",
        "warm is declared with another sampling than cold ({'temperature': 1}, not {'temperature': 0}): their difference is "
        "one of model and sampling",
    ]


def test_another_question_is_refused_however_the_models_were_sampled(tmp_path):
    runs = [sampled(tmp_path / "a", {"temperature": 0}), sampled(tmp_path / "b", {"temperature": 1}, "Which one?")]
    with pytest.raises(RunError, match=r"question, at character 5: 'Which\?' against 'Which one\?'"):
        matched(arms_of(runs))


def test_a_model_that_no_run_has_gets_the_near_match():
    with pytest.raises(RunError, match="--model 'modle': no such model in these runs; did you mean 'model'"):
        arms_of([(Recorded({**RUN, "id": "a"}, (row(model="model"),)), None)], ["modle"])


def test_runs_of_one_spec_that_share_nothing_are_told_what_to_compare():
    with pytest.raises(RunError, match="a and b share no request; compare runs with the same views and --limit"):
        matched(arms(a=[row(view="table_nm")], b=[row(view="table_ev")]))


def test_matching_instances_compares_other_prompts_on_the_same_instances():
    rows = hashed(answered(oracle, n=3))
    other = [replace(o, request_sha256="f" * 64) for o in rows if not o.instance.endswith("2")]
    found = matched(arms(a=rows, b=other), "instances")
    assert {o.instance for o in found[0].outcomes} == {o.instance for o in other}


def lost(o):
    """The request without its reply."""
    return replace(o, status="lost", choice=None, correct=None, abstained=None, request_sha256="", expected="")


def test_a_request_that_one_arm_lost_counts_for_none():
    rows = hashed([row(variant=f"v{i}", choice="AB"[i % 2], instance=f"i{i}") for i in range(8)])
    half = [lost(o) if o.correct is False else o for o in rows]
    found = matched(arms(a=rows, b=half))
    assert [(len(a.outcomes), a.left_out) for a in found] == [(4, 4), (4, 4)]
    compared = compare(found, resamples=50)
    assert (by_metric(compared, "accuracy").change.value, compared.flips) == (0.0, ())


def test_a_reply_that_cannot_be_read_is_a_result_and_stays():
    rows = [row(instance=f"i{i}") for i in range(4)]
    unread = [replace(o, status="unparsed", choice=None, correct=None, abstained=None) for o in rows]
    found = compare(matched(arms(a=rows, b=unread)), resamples=50)
    assert (by_metric(found, "accuracy").change.value, len(found.flips)) == (-100.0, 4)


def test_an_arm_that_lost_everything_is_named():
    rows = [row(instance=f"i{i}") for i in range(3)]
    with pytest.raises(RunError, match="all 3 requests of b are lost; run again with the same run id"):
        matched(arms(a=rows, b=list(map(lost, rows))))


def test_lost_requests_are_told_and_left_out_of_both_runs(tmp_path):
    rows = answered(oracle, n=3)
    a, b = run_folder(tmp_path / "a", rows), run_folder(tmp_path / "b", rows)
    lines = (b / "outcomes.jsonl").read_text().splitlines(keepends=True)
    (b / "outcomes.jsonl").write_text("".join(lines[5:]))
    call(str(a), str(b), "--out", str(tmp_path / "c"))
    said = (tmp_path / "c" / "compare.md").read_text()
    assert "5 requests of b are lost" in said
    assert "Left out, as not every arm has a reply to them: 5 of a, 5 of b." in said
    assert "No decision differs." in said


def test_matching_instances_pairs_the_same_variants_and_views_whatever_the_template():
    """A model that sees no plots is compared with others on the tables alone."""
    both = [row(instance=f"i{i}", view=v, choice="A" if v == "table_nm" else "B") for i in range(4)
            for v in ("table_nm", "plot_nm")]
    tables = [replace(o, model="x", template="other") for o in both if o.view == "table_nm"]
    found = matched(arms(a=both, b=tables), "instances")
    assert [(len(a.outcomes), a.left_out) for a in found] == [(4, 4), (4, 0)]
    assert by_metric(compare(found, resamples=50), "accuracy").change.value == 0.0


def test_arms_with_other_numbers_of_requests_say_so():
    """With two templates against one there is no request for request."""
    two = [row(instance=f"i{i}", template=t) for i in range(3) for t in ("plain", "terse")]
    found = compare(matched(arms(a=two, b=[o for o in two if o.template == "plain"]), "instances"), resamples=50)
    assert "6 requests of a, 3 of b" in pages.text([found], "t")


def test_runs_of_other_suites_share_nothing():
    with pytest.raises(RunError, match="share no request"):
        matched(arms(a=[row(spec="s")], b=[row(spec="t")]))


def test_several_models_stand_against_the_first():
    found = arms(a=answered(oracle, n=2), b=answered(oracle, n=2, model="x") + answered(oracle, n=2, model="y"))
    assert [[a.label for a in group] for group in comparisons(found)] == [["m", "x", "y"]]


def test_the_same_models_in_two_runs_are_compared_model_by_model():
    rows = answered(oracle, n=2) + answered(oracle, n=2, model="x")
    assert [[a.label for a in group] for group in comparisons(arms(a=rows, b=rows))] == [["a", "b"], ["a", "b"]]


def test_one_arm_alone_is_refused():
    with pytest.raises(RunError, match="two runs"):
        comparisons(arms(a=[row()]))


def test_flips_say_what_broke_and_what_was_repaired():
    a = [row(variant="v0", choice="A"), row(variant="v1", choice="B"), row(variant="v2", choice="B"), row(variant="v3")]
    b = [
        row(variant="v0", choice="B"),
        row(variant="v1", choice="A"),
        row(variant="v2", choice="C"),
        row(variant="v3", status="truncated"),
    ]
    assert [(f.where[3], f.kind, f.other) for f in flips(arms(a=a, b=b))] == [
        ("v0", "broken", "B"),
        ("v3", "broken", "(truncated)"),
        ("v1", "repaired", "A"),
        ("v2", "otherwise", "C"),
    ]


def test_a_large_family_of_metrics_still_finds_a_large_effect():
    found = compare(matched(arms(a=answered(oracle, n=10), b=answered(right_with(0.4), n=10))), resamples=200)
    assert sum(d.adjusted_p is not None for d in found.summary) > 10
    assert by_metric(found, "core_accuracy").adjusted_p < 0.01


def test_every_difference_says_what_it_could_have_detected():
    found = compare(matched(arms(a=answered(oracle, n=6), b=answered(right_with(0.5), n=6))), resamples=200)
    d = by_metric(found, "accuracy")
    assert 0 < d.detectable < 100


def test_the_command_writes_a_page_markdown_and_csv(tmp_path, capsys):
    a, b = run_folder(tmp_path / "a", answered(oracle, n=4)), run_folder(tmp_path / "b", answered(right_with(0.4), n=4))
    assert call(str(a), str(b), "--out", str(tmp_path / "c")) == 0
    assert {p.name for p in (tmp_path / "c").iterdir()} == {"compare.md", "compare.html", "flips.csv"}
    assert "farther from ideal" in capsys.readouterr().out


def test_the_page_of_hostile_names_holds_no_markup_of_theirs(tmp_path):
    bad = [replace(o, choice="<script>x", correct=False) for o in answered(oracle, n=2)]
    a, b = run_folder(tmp_path / "a", answered(oracle, n=2)), run_folder(tmp_path / "b", bad)
    call(str(a), str(b), "--out", str(tmp_path / "c"))
    assert "<script>x" not in (tmp_path / "c" / "compare.html").read_text()


def test_a_run_holds_against_its_own_baseline(tmp_path):
    folder, base = run_folder(tmp_path / "a", hashed(answered(right_with(0.7), n=6))), tmp_path / "base.json"
    assert call("--save-baseline", str(base), str(folder)) == 0
    assert call("--against", str(base), str(folder), "--out", str(tmp_path / "c")) == 0


def test_a_worse_run_fails_against_the_baseline(tmp_path, capsys):
    good = hashed(answered(oracle, n=10))
    base = tmp_path / "base.json"
    call("--save-baseline", str(base), str(run_folder(tmp_path / "a", good)))
    worse = hashed(answered(right_with(0.5), n=10))
    assert call("--against", str(base), str(run_folder(tmp_path / "b", worse)), "--out", str(tmp_path / "c")) == 1
    assert re.search(r"FAIL accuracy on .*100.0 -> ", capsys.readouterr().out)


def test_a_better_run_holds(tmp_path):
    base = tmp_path / "base.json"
    call("--save-baseline", str(base), str(run_folder(tmp_path / "a", hashed(answered(right_with(0.5), n=10)))))
    assert (
        call(
            "--against",
            str(base),
            str(run_folder(tmp_path / "b", hashed(answered(oracle, n=10)))),
            "--metric",
            "accuracy",
            "--out",
            str(tmp_path / "c"),
        )
        == 0
    )


def test_a_small_drop_fails_only_where_max_drop_says_so(tmp_path):
    good = hashed(answered(oracle, n=10))
    one_wrong = [replace(good[0], choice="zzz", correct=False), *good[1:]]
    base = tmp_path / "base.json"
    call("--save-baseline", str(base), str(run_folder(tmp_path / "a", good)))
    words = [
        "--against",
        str(base),
        str(run_folder(tmp_path / "b", one_wrong)),
        "--metric",
        "accuracy",
        "--out",
        str(tmp_path / "c"),
    ]
    assert (call(*words), call(*words, "--max-drop", "0.01")) == (0, 1)


def test_a_baseline_of_other_prompts_is_refused(tmp_path):
    base = tmp_path / "base.json"
    call("--save-baseline", str(base), str(run_folder(tmp_path / "a", hashed(answered(oracle, n=2)))))
    with pytest.raises(RunError, match="asked different things"):
        call(
            "--against",
            str(base),
            str(run_folder(tmp_path / "b", hashed(answered(oracle, n=2), "new"))),
            "--out",
            str(tmp_path / "c"),
        )


def test_a_baseline_is_small_and_has_a_line_an_instance(tmp_path):
    rows = hashed(answered(oracle, n=48))
    base = tmp_path / "base.json"
    call("--save-baseline", str(base), str(run_folder(tmp_path / "a", rows)))
    text = base.read_text()
    assert len(text) < 60 * len(rows)  # bytes a request
    assert sum(line.startswith('["') for line in text.splitlines()) == len({(o.task, o.instance) for o in rows})
    assert json.loads(text)["run"] == "a"


def test_an_incomplete_run_cannot_become_a_baseline(tmp_path):
    folder = run_folder(tmp_path / "a", [row(), row(view="table_ev")])
    lines = (folder / "outcomes.jsonl").read_text().splitlines(keepends=True)
    (folder / "outcomes.jsonl").write_text(lines[0])
    with pytest.raises(RunError, match="1 requests of run 'a' are lost"):
        call("--save-baseline", str(tmp_path / "base.json"), str(folder))


@pytest.mark.parametrize("text, said", [("{", "cannot be read"), ("{}", "not a baseline")])
def test_a_broken_baseline_says_what_to_do(tmp_path, text, said):
    (tmp_path / "base.json").write_text(text)
    with pytest.raises(RunError, match=said):
        call(
            "--against",
            str(tmp_path / "base.json"),
            str(run_folder(tmp_path / "a", [row()])),
            "--out",
            str(tmp_path / "c"),
        )


HOSTILE = "m\x1b[2J\n::error::owned | <b>% of\u202eit"


def worse_than_baseline(tmp_path, monkeypatch, **environ):
    """What a comparison with a baseline prints, for a model of a hostile name that got worse."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, str(value))
    base = tmp_path / "base.json"
    for folder, responder in ((tmp_path / "a", oracle), (tmp_path / "b", right_with(0.5))):
        run_folder(folder, hashed(answered(responder, n=10, model=HOSTILE)))
        (folder / "keys.txt").unlink()  # has one key a line, so a session could not write this one
    call("--save-baseline", str(base), str(tmp_path / "a"))
    return call("--against", str(base), str(tmp_path / "b"), "--metric", "accuracy", "--out", str(tmp_path / "c"))


def test_a_hostile_model_name_sends_nothing_but_its_letters_to_the_terminal(tmp_path, monkeypatch, capsys):
    assert worse_than_baseline(tmp_path, monkeypatch) == 1
    said = capsys.readouterr().out
    assert "FAIL accuracy on metasurface-main (m ::error::owned | <b>% ofit): 100.0 -> " in said
    assert ("\x1b" in said, "\u202e" in said, "\n::error" in said) == (False, False, False)


def test_on_github_each_worse_metric_is_one_annotation_whatever_the_model_is_called(tmp_path, monkeypatch, capsys):
    worse_than_baseline(tmp_path, monkeypatch, GITHUB_ACTIONS="true")
    commands = [line for line in capsys.readouterr().out.splitlines() if line.startswith("::")]
    assert len(commands) == 1
    assert commands[0].startswith(
        "::error title=isoprobe compare::accuracy on metasurface-main (m ::error::owned | <b>%25 ofit): 100.0 -> "
    )


def test_on_github_the_comparison_is_appended_to_the_job_summary(tmp_path, monkeypatch):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    worse_than_baseline(tmp_path, monkeypatch, GITHUB_STEP_SUMMARY=summary)
    assert summary.read_text() == "before\n" + (tmp_path / "c" / "compare.md").read_text()


def test_without_a_baseline_nothing_is_annotated(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    a, b = run_folder(tmp_path / "a", answered(oracle, n=4)), run_folder(tmp_path / "b", answered(right_with(0.4), n=4))
    call(str(a), str(b), "--out", str(tmp_path / "c"))
    assert "::error" not in capsys.readouterr().out


def baseline(tmp_path: Path, outcomes) -> Path:
    call("--save-baseline", str(tmp_path / "base.json"), str(run_folder(tmp_path / "first", outcomes)))
    return tmp_path / "base.json"


def against(tmp_path: Path, base: Path, folder: Path, *more: str) -> int:
    return call("--against", str(base), str(folder), "--metric", "accuracy", "--out", str(tmp_path / "c"), *more)


def losing(folder: Path, keep: int) -> Path:
    """The run with the first ``keep`` of its replies only; the others are lost."""
    lines = (folder / "outcomes.jsonl").read_text().splitlines(keepends=True)
    (folder / "outcomes.jsonl").write_text("".join(lines[:keep]))
    return folder


@pytest.mark.parametrize("keep", [0, 3, 71])
def test_a_run_that_lost_requests_of_the_baseline_fails_whether_or_not_a_smaller_run_is_meant(tmp_path, capsys, keep):
    rows = hashed([row(instance=f"i{i}", variant=v) for i in range(24) for v in ("v0", "v1", "v2")])
    base, b = baseline(tmp_path, rows), losing(run_folder(tmp_path / "b", rows), keep)
    assert [against(tmp_path, base, b), against(tmp_path, base, b, "--allow-missing")] == [1, 1]
    said = capsys.readouterr().out
    assert f"FAIL m: {72 - keep} of the baseline's 72 requests are lost; run again with the same run id" in said
    assert "gate on change: evidence is missing" in said


def test_a_smaller_run_holds_against_the_baseline_only_where_it_is_said_to_be_meant(tmp_path, capsys):
    rows = hashed([row(instance=f"i{i}") for i in range(24)])
    base, b = baseline(tmp_path, rows), run_folder(tmp_path / "b", rows[:6])
    assert against(tmp_path, base, b) == 1
    assert "FAIL m: 18 of the baseline's 24 requests are not in the run; ask them too, or add --allow-missing" in (
        capsys.readouterr().out
    )
    assert against(tmp_path, base, b, "--allow-missing") == 0
    assert "gate on change: holds, on 6 of the baseline's 24 requests" in capsys.readouterr().out


def test_what_a_run_lacks_of_the_baseline_stands_in_the_comparison_too(tmp_path):
    rows = hashed([row(instance=f"i{i}") for i in range(24)])
    against(tmp_path, baseline(tmp_path, rows), run_folder(tmp_path / "b", rows[:6]))
    said = (tmp_path / "c" / "compare.md").read_text()
    assert "18 of the baseline's 24 requests are not in the run" in said
    assert "Left out, as not every arm has a reply to them: 18 of baseline first." in said


def test_a_model_of_the_baseline_that_the_run_lacks_fails_unless_others_are_named(tmp_path, capsys):
    rows = hashed([row(instance=f"i{i}", model=m) for i in range(6) for m in ("m", "x")])
    base, b = baseline(tmp_path, rows), run_folder(tmp_path / "b", [o for o in rows if o.model == "m"])
    assert against(tmp_path, base, b) == 1
    assert "FAIL x: the run has no such model, of which the baseline holds 6 requests" in capsys.readouterr().out
    assert [against(tmp_path, base, b, *more) for more in (("--model", "m"), ("--allow-missing",))] == [0, 0]


def test_no_request_in_common_fails_even_where_a_smaller_run_is_meant(tmp_path):
    base = baseline(tmp_path, hashed([row(instance=f"i{i}") for i in range(6)]))
    other = run_folder(tmp_path / "b", hashed([row(instance=f"j{i}") for i in range(6)]))
    assert against(tmp_path, base, other, "--allow-missing") == 1


def test_a_comparison_in_which_nothing_can_be_tested_does_not_hold(tmp_path, capsys):
    """One instance has no interval, so nothing that happens to it is beyond chance."""
    base = baseline(tmp_path, hashed([row()]))
    assert against(tmp_path, base, run_folder(tmp_path / "b", hashed([row(choice="B")]))) == 1
    assert "FAIL m: no metric could be tested" in capsys.readouterr().out


def test_a_run_without_requests_cannot_become_a_baseline(tmp_path):
    with pytest.raises(RunError, match="run 'first' holds no request"):
        baseline(tmp_path, [])


def test_a_run_without_requests_is_not_held_against_a_baseline(tmp_path):
    base = baseline(tmp_path, hashed([row(instance=f"i{i}") for i in range(6)]))
    with pytest.raises(RunError, match="the run holds no request"):
        against(tmp_path, base, run_folder(tmp_path / "b", []), "--allow-missing")


CELL = {"table_nm/plain/0": ["A", "abc"]}


@pytest.mark.parametrize(
    "entry, said",
    [
        (5, "5 is no list of model, spec, task, instance and variants"),
        (["m", "s", "compare", "i0"], "is no list of model"),
        (["m", "s", "compare", "i0", {"v0": 5}], "is no object"),
        (["m", "s", "compare", "i0", {"v0": {"table_nm/plain/0": "A"}}], "'A' is no list of decision, hash and more"),
        ([["m"], "s", "compare", "i0", {"v0": CELL}], r"\['m'\] is no name"),
        (["m", "s", "compare", "i0", {"v0": {"table_nm/plain/0": ["A", 12]}}], "12 is no hash"),
        (["m", "s", "compare", "i0", {"v0": {"table_nm/plain/0": [1, "abc"]}}], "1 is no decision"),
        (["m", "s", "compare", "i0", {"v0": {"table_nm/plain/0": ["A", "abc", 5]}}], "5 is no object"),
        (["m", "s", "compare", "i0", {"v0": {"table_nm/plain/0": ["A", "abc", {"status": "odd"}]}}], "'odd' is no status"),
        (["m", "s", "compare", "i0", {"v0": {"table_nm/plain/0": ["A", "abc", {"status": []}]}}], "is no status"),
        (["m", "s", "compare", "i0", {"v0": {"table_nm/plain/0": ["A", "abc", {"p": {"A": "high"}}]}}],
         "'high' is no probability"),
        (["m", "s", "compare", "i0", {"v0": {"table_nm/plain/0": ["A", "abc", {"p": [0.5]}]}}], "is no object"),
        (["m", "s", "compare", "i0", {"v0": {"table_nm/plain/0": ["A", "abc", {"claims": "x"}]}}], "is no object"),
    ],
)  # fmt: skip
def test_a_baseline_with_a_broken_instance_names_it(tmp_path, entry, said):
    instances = [["m", "s", "compare", "i9", {"v0": CELL}], entry]
    (tmp_path / "base.json").write_text(json.dumps({"isoprobe_baseline": 1, "run": "a", "instances": instances}))
    with pytest.raises(RunError, match=rf"base\.json: instances.1..*{said}.*save the baseline again"):
        against(tmp_path, tmp_path / "base.json", run_folder(tmp_path / "b", [row()]))


def test_a_baseline_without_instances_is_refused(tmp_path):
    (tmp_path / "base.json").write_text('{"isoprobe_baseline": 1, "run": "a", "instances": []}')
    with pytest.raises(RunError, match=r"base\.json: holds no request"):
        against(tmp_path, tmp_path / "base.json", run_folder(tmp_path / "b", [row()]))


@pytest.mark.parametrize("drop", ["nan", "-5", "inf"])
def test_a_drop_that_could_never_or_always_fail_is_refused(tmp_path, drop):
    base = baseline(tmp_path, hashed([row(instance=f"i{i}") for i in range(6)]))
    with pytest.raises(RunError, match=f"--max-drop {drop}: not a number of points from 0 on"):
        against(tmp_path, base, tmp_path / "first", f"--max-drop={drop}")


@pytest.mark.parametrize("words", [("--max-drop", "5"), ("--allow-missing",)])
def test_options_of_the_gate_on_change_are_refused_without_a_baseline(tmp_path, words):
    a, b = (run_folder(tmp_path / name, [row()]) for name in "ab")
    with pytest.raises(RunError, match=f"{words[0]} judges a change from a baseline; name one with --against FILE"):
        call(str(a), str(b), *words)


def test_the_folder_of_a_comparison_is_named_by_the_folders_of_the_runs_whatever_their_ids(tmp_path):
    for name in "ab":
        run_folder(tmp_path / "reports" / name, [row(instance=f"i{i}") for i in range(3)], id="../../../out")
    assert call("a", "b", "--reports", str(tmp_path / "reports"), "--metric", "accuracy") == 0
    assert (tmp_path / "reports" / "compare" / "a-b" / "compare.md").is_file()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["reports"]


def test_the_markdown_of_a_hostile_model_name_holds_no_markup_of_its():
    rows = [row(instance=f"i{i}") for i in range(3)]
    worse = [row(instance=f"i{i}", model="a|b<img src=x>", choice="B") for i in range(3)]
    said = pages.text([compare(matched(arms(a=rows, b=worse)), resamples=50)], "t")
    assert "| a\\|b&lt;img src=x&gt; | broken |" in said
    assert "<img" not in said


def of_one_run(folder: Path, outcomes, contents=()):
    """The arms of a run that kept these contents of its requests, by hash."""
    folder.mkdir()
    (folder / "requests.jsonl").write_text("".join(json.dumps({"request": k, **c}) + "\n" for k, c in contents))
    return arms_of([(Recorded({**RUN, "id": "a"}, tuple(outcomes)), folder)])


ASKED = {"system": "", "evidence": [], "question": "Which?", "options": [["A", "A", ""]], "readout": "decision",
         "prompt": "Question: Which?", "answer": {"space": "choice"}, "sampling": {}}  # fmt: skip
LETTERS = {"readout": "option_letters", "prompt": "Question: Which?\nLetter only."}


@pytest.mark.parametrize(
    "other, said",
    [
        (LETTERS, "x is declared with another readout than m ('option_letters', not 'decision'): their difference is one "
         "of model and readout"),
        ({"sampling": {"seed": 1}}, "x is declared with another sampling than m ({'seed': 1}, not {}): their difference is "
         "one of model and sampling"),
    ],
)  # fmt: skip
def test_models_of_one_run_are_compared_with_the_readout_and_sampling_that_they_declare(tmp_path, other, said):
    content = {**ASKED, **other}
    rows = [
        row(instance=f"i{i}", model=m, request_sha256=sha, readout=readout)
        for m, sha, readout in (("m", "a" * 64, "decision"), ("x", "b" * 64, content["readout"]))
        for i in range(3)
    ]
    found = matched(of_one_run(tmp_path / "a", rows, [("a" * 64, ASKED), ("b" * 64, content)]))
    assert [a.note for a in found] == ["", said]


@pytest.mark.parametrize("named, expected", [((), ["z", "a", "m"]), (("m", "z"), ["m", "z"])])
def test_the_first_model_that_was_named_is_what_the_others_are_compared_with(tmp_path, named, expected):
    run = Recorded({**RUN, "id": "a", "models": {"z": {}, "a": {}}}, tuple(row(model=m) for m in ("a", "m", "z")))
    assert expected == [a.label for a in arms_of([(run, tmp_path)], named)]


def test_models_of_one_run_that_kept_no_requests_may_differ_in_their_declared_readout(tmp_path):
    rows = [row(model="m", request_sha256="a" * 64, readout="decision"),
            row(model="x", request_sha256="b" * 64, readout="option_letters")]  # fmt: skip
    assert "another readout" in matched(of_one_run(tmp_path / "a", rows))[1].note


@pytest.mark.parametrize(
    "other, said",
    [
        ({**LETTERS, "question": "What?"}, "question, at character 2: 'Which?' against 'What?'"),
        ({**LETTERS, "evidence": [{"image": "1"}]}, "evidence, at character 1"),
        ({"prompt": "Question: Which? Hurry!"}, "prompt, at character 16"),
    ],
)
def test_models_of_one_run_that_were_asked_other_questions_are_refused(tmp_path, other, said):
    rows = [row(model=m, request_sha256=sha, readout=r) for m, sha, r in (("m", "a" * 64, "decision"), ("x", "b" * 64, "l"))]
    with pytest.raises(RunError, match=re.escape(f"m and x were asked different things: {said}")):
        matched(of_one_run(tmp_path / "a", rows, [("a" * 64, ASKED), ("b" * 64, {**ASKED, **other})]))


def test_the_comparison_says_that_readouts_differ(tmp_path):
    rows = [
        row(instance=f"i{i}", model=m, request_sha256=sha * 64, readout=r)
        for i in range(3)
        for m, sha, r in (("m", "a", "decision"), ("x", "b", "option_letters"))
    ]
    assert call(str(run_folder(tmp_path / "a", rows)), "--metric", "accuracy", "--out", str(tmp_path / "c")) == 0
    assert "> x is declared with another readout than m" in (tmp_path / "c" / "compare.md").read_text()


def certain(p: float, i: int = 0):
    """A right answer with this probability, or a little less for every second instance."""
    p -= 0.02 * (i % 2)
    return row(instance=f"i{i}", request_sha256=f"{i:064}", probabilities={"A": p, "B": 1 - p}, confidence=p,
               probability_kind="readout")  # fmt: skip


def test_a_difference_of_scores_has_three_decimals_wherever_it_is_read(tmp_path, capsys):
    good, bad = [certain(0.95, i) for i in range(12)], [certain(0.85, i) for i in range(12)]
    base, b = baseline(tmp_path, good), run_folder(tmp_path / "b", bad)
    assert call("--against", str(base), str(b), "--metric", "brier", "--out", str(tmp_path / "c")) == 1
    assert re.search(r"FAIL brier on s \(m\): 0\.007 -> 0\.051, worse", capsys.readouterr().out)
    assert re.search(r"\| 0\.044 \[[^|]*\| < 0\.001 *\| 0\.00\d +\|", (tmp_path / "c" / "compare.md").read_text())
    assert re.search(r">0\.00\d<", (tmp_path / "c" / "compare.html").read_text())


def test_a_drop_in_points_says_nothing_of_a_score(tmp_path):
    """A change of 0.4 among 0 to 2 is not one of 0.4 points."""
    good = [certain(0.95, i) for i in range(3)]
    bad = [certain(0.93, 0), certain(0.97, 1), certain(0.2, 2)]
    base, b = baseline(tmp_path, good), run_folder(tmp_path / "b", bad)
    words = ("--against", str(base), str(b), "--metric", "brier", "--out", str(tmp_path / "c"), "--max-drop", "0.01")
    assert call(*words) == 0


@pytest.mark.parametrize("change, unit, at", [(0, "points", 50), (-100, "points", 0), (50, "points", 75), (2, "score", 100),
                                              (-0.5, "score", 37.5)])  # fmt: skip
def test_a_change_stands_on_the_rail_of_its_unit(change, unit, at):
    assert pages._rail(change, unit) == at


def test_a_metric_that_a_report_shows_for_core_requests_says_so_where_it_is_over_all():
    core = [certain(0.9, i) for i in range(4)]
    both = [*core, *(replace(o, core=False, variant="v1", key=f"{o.key}1") for o in core)]
    said = [
        pages.text([compare(matched(arms(a=rows, b=rows)), resamples=50, metrics=["accuracy", "brier"])], "t")
        for rows in (core, both)
    ]
    expected = "brier: over all shared requests here, over those of core variants in the tables of a report."
    assert [expected in s for s in said] == [False, True]
