"""Task performance by arm and template, and the cost of the assessment prompt (modality paper, tables 5-7, 10; E.2)."""

from __future__ import annotations

from ..bootstrap import Resamples
from ..metrics.task_performance import assessed_pairs, parsed_pairs, repeated
from ..outcome import Table
from ..rows import Rows
from .suite import cells, estimates, point, spread, table


def task_performance(rows: Rows, resamples: Resamples) -> Table | None:
    made = []
    for (spec, model, view), part in cells(rows, "spec", "model", "view"):
        plain, assessed = part.where(template="plain"), part.where(template="assessment")
        kind = next((str(o.facts.get("score", "accuracy")) for o in part.outcomes), "")
        made.append((spec, _SCORES.get(kind, kind), model, view, *(estimates(p, resamples, ("task_score",))[0]
                                                                   for p in (plain, assessed)),
                     *(point(p, "usable_share") for p in (plain, assessed)), part.n_instances))
    return table(
        "task_performance",
        "Task performance by arm and template, %",
        ("spec", "score", "model", "view", "plain", "assessment", "usable, plain", "usable, assessment", "items"),
        made,
        "Over all attempted rows: a row that did not parse scores nothing. A film's shared generation counts once for "
        "each of its rows, except in the title-only arm, which is scored once a film.",
        "modality paper, tables 5 to 7",
    )


_SCORES = {"accuracy": "accuracy", "macro_f1": "macro F1", "sample_f1": "sample-averaged F1"}


def assessment_cost(rows: Rows, resamples: Resamples) -> Table | None:
    made = [(spec, model, view, *estimates(part, resamples, ("assessment_cost", "answer_moved")),
             len(assessed_pairs(part)), len(assessed_pairs(part)) - len(parsed_pairs(part)))
            for (spec, model, view), part in cells(rows, "spec", "model", "view")]
    return table(
        "assessment_cost",
        "What the assessment prompt costs",
        ("spec", "model", "view", "assessment - plain, points", "answer moved, %", "pairs", "pairs not both parsed"),
        made,
        "Cost over all attempted rows, paired; answer moved over pairs that both parsed. Clusters are resampled.",
        "modality paper, table 10",
    )


def assessment_cost_summary(rows: Rows, resamples: Resamples) -> Table | None:
    made = []
    for (spec,), part in cells(rows, "spec"):
        for kind in ("single", "joint"):
            costs, moved, below, above = [], [], 0, 0
            for (arm, _), cell in cells(part, "facts.arm", "model"):
                if not arm or (arm == "both") != (kind == "joint"):
                    continue
                cost, shift = estimates(cell, resamples, ("assessment_cost", "answer_moved"))
                if cost.value is None:
                    continue
                costs.append(cost.value)
                moved.append(shift.value)
                below += cost.interval is not None and cost.interval[1] < 0
                above += cost.interval is not None and cost.interval[0] > 0
            if costs:
                made.append((spec, kind, len(costs), *spread(costs), below, above, spread(moved)[0]))
    return table(
        "assessment_cost_summary", "Cost of the assessment prompt over the cells of a suite",
        ("spec", "arm", "cells", "cost, median, points", "least", "largest", "interval below 0", "interval above 0",
         "answer moved, median, %"), made, "Single pools the two single-input arms.", "modality paper, table 10")


def noise_floor(rows: Rows, resamples: Resamples) -> Table | None:
    made = []
    for (spec, model, view, template), part in cells(rows, "spec", "model", "view", "template"):
        if not len(repeated(part)):
            continue
        scores = [v for r in part.distinct("repeat") if (v := point(part.where(repeat=r), "task_score")) is not None]
        made.append((spec, model, view, template, *estimates(part, resamples, ("repeat_changes",)),
                     max(scores) - min(scores) if len(scores) > 1 else None, len(part.distinct("repeat"))))
    return table(
        "noise_floor", "What changes when the same request is asked again",
        ("spec", "model", "view", "template", "answers that change, %", "range of the score, points", "repeats"), made,
        "No difference smaller than this is read as an effect. Needs --repeat.", "modality paper, appendix E.2")
