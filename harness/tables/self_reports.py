"""What models say of their inputs against what they do (modality paper, tables 2, 3, 4, 8 and 9)."""

from __future__ import annotations

from typing import Any

from ..bootstrap import Resamples
from ..metrics import attribution as retro
from ..metrics.arms import CATEGORIES, counts, joints, singles
from ..outcome import Table
from ..rows import Rows
from .suite import CHANCE, SCORED, cells, estimates, point, scored, spread, table

_SPREAD = ("median", "least", "largest")


def _prospective_counts(rows: Rows) -> tuple[int, int]:
    return scored(singles(rows), lambda r: counts(r, lambda g: g.joint is not None).sum())


def _common_counts(rows: Rows) -> tuple[int, int]:
    return scored(singles(rows), lambda r: counts(r, lambda g: g.common).sum())


def _lines(rows: Rows) -> list[tuple[tuple[Any, ...], Rows]]:
    """(spec, model, given input) with the rows of that cell, single-input arms only."""
    return [(names, part) for names, part in cells(rows, "spec", "model", "facts.arm") if len(singles(part))]


def attribution(rows: Rows, resamples: Resamples) -> Table | None:
    made = []
    for (spec, model), part in cells(rows, "spec", "model"):
        asked = joints(part)
        kept = len(retro.scored(part))
        for category in CATEGORIES:
            stated, executed, gap = estimates(
                part, resamples, (f"stated_{category}", f"executed_{category}", f"attribution_gap_{category}"))
            made.append((spec, model, _category(category, part), stated, executed, gap, kept, len(asked) - kept))
    return table(
        "attribution",
        "Retrospective attribution: stated against executed, % of items",
        ("spec", "model", "attribution", "stated", "executed", "executed - stated, points", "scored", "dropped"),
        made,
        "Which inputs' alone-answers reproduce the joint answer. Stated: the joint assessment about itself; executed: "
        f"the three plain arms. Shares are marginals and do not imply agreement on an item. {SCORED}",
        "modality paper, table 2",
    )


def attribution_agreement(rows: Rows, resamples: Resamples) -> Table | None:
    made = [(spec, model, *estimates(part, resamples, ("attribution_agreement",)), point(part, "attribution_chance"))
            for (spec, model), part in cells(rows, "spec", "model")]
    return table("attribution_agreement", "Stated and executed attribution of the same item agree, %",
                 ("spec", "model", "agreement", "by chance"), made, CHANCE, "modality paper, section 3.2")


def _category(category: str, rows: Rows) -> str:
    inputs: list[str] = next((o.facts["inputs"] for o in rows.outcomes if o.facts.get("inputs")), ["first", "second"])
    return {"first": f"{inputs[0]} alone", "second": f"{inputs[1]} alone", "neither": "both (neither alone)",
            "either": "either suffices"}[category]


def prospective(rows: Rows, resamples: Resamples) -> Table | None:
    made = [(*names, *estimates(part, resamples, ("predicted_change", "executed_change", "calibration_gap",
                                                  "claim_accuracy")),
             point(part, "claim_chance"), point(part, "change_chance"), *_prospective_counts(part))
            for names, part in _lines(rows)]
    return table(
        "prospective", "Restoring the withheld input: predicted against executed change, % of items",
        ("spec", "model", "given", "predicted", "executed", "gap, points", "claim right", "claim by chance",
         "change by chance", "scored", "dropped"), made,
        f"Gap = executed - predicted; ideal 0. Always repeating the answer predicts 0. {CHANCE} {SCORED}",
        "modality paper, table 3 and figure 5")


def prospective_summary(rows: Rows, resamples: Resamples) -> Table | None:
    made = []
    for (spec,), part in cells(rows, "spec"):
        per_cell = [[point(cell, m) for m in ("predicted_change", "executed_change", "calibration_gap")]
                    for _, cell in _lines(part)]
        there = [[v for v in row if v is not None] for row in per_cell if None not in row]
        if there:
            made.append((spec, len(there), *spread([r[0] for r in there]), *spread([r[1] for r in there]),
                         spread([r[2] for r in there])[0], sum(r[1] > r[0] for r in there)))
    return table(
        "prospective_summary", "Predicted and executed change over the cells (model x given input) of a suite, %",
        ("spec", "cells", *(f"predicted, {s}" for s in _SPREAD), *(f"executed, {s}" for s in _SPREAD),
         "median gap, points", "cells with executed > predicted"), made,
        "The median gap is the median of the cells' gaps, not the difference of the medians.",
        "modality paper, table 3")


def sufficiency_flag(rows: Rows, resamples: Resamples) -> Table | None:
    metrics = ("insufficient_share", "insufficiency_precision", "insufficiency_recall", "silent_failures",
               "flag_contradicts_claim")
    made = [(*names, *estimates(part, resamples, metrics), point(part, "executed_change"), *_prospective_counts(part))
            for names, part in _lines(rows)]
    return table(
        "sufficiency_flag",
        "The sufficiency flag as a detector of executed change, %",
        (
            "spec",
            "model",
            "given",
            "claimed insufficient",
            "precision",
            "recall",
            "silent failures, % of items",
            "flag against own claim",
            "precision by chance",
            "scored",
            "dropped",
        ),
        made,
        "Precision is P(changed | insufficient) and is read against the executed change, which a flag at random gets; "
        f"recall is P(insufficient | changed). Silent failures are changed under a SUFFICIENT flag. {SCORED}",
        "modality paper, table 4 and figure 3",
    )


def sufficiency_summary(rows: Rows, resamples: Resamples) -> Table | None:
    made = []
    for (spec,), part in cells(rows, "spec"):
        per_cell = [[point(cell, m) for m in ("insufficient_share", "insufficiency_precision", "insufficiency_recall")]
                    for _, cell in _lines(part)]
        if any(row[0] is not None for row in per_cell):
            made.append((spec, sum(r[0] is not None for r in per_cell), *(v for i in range(3)
                                                                          for v in spread([r[i] for r in per_cell]))))
    return table(
        "sufficiency_summary", "The sufficiency flag over the cells of a suite, %",
        ("spec", "cells", *(f"{what}, {s}" for what in ("claimed", "precision", "recall") for s in _SPREAD)), made,
        "Cells without a flag have no precision, cells without a change no recall.", "modality paper, table 4")


def prospective_wirings(rows: Rows, resamples: Resamples) -> Table | None:
    metrics = (
        "predicted_change_common",
        "executed_change_mixed",
        "executed_change_assessment",
        "executed_change_plain",
    )
    made = [(*names, *estimates(part, resamples, metrics), *_common_counts(part)) for names, part in _lines(rows)]
    return table(
        "prospective_wirings",
        "Executed change with the template held fixed, % of common items",
        ("spec", "model", "given", "predicted", "mixed", "assessment", "plain", "scored", "dropped"),
        made,
        "Mixed: assessment alone against plain joint, as intended; matched wirings draw both sides from one template. "
        f"All columns use the items on which both arms parsed under both templates. {SCORED}",
        "modality paper, table 8",
    )


def attribution_wirings(rows: Rows, resamples: Resamples) -> Table | None:
    made = []
    for (spec, model), part in cells(rows, "spec", "model"):
        kept = len(retro.common(part))
        for category in CATEGORIES:
            sides = [retro.matched(side, category) for side in ("stated", "executed", "executed_assessed")]
            made.append((spec, model, _category(category, part), *estimates(part, resamples, sides),
                         kept, len(joints(part)) - kept))
    return table(
        "attribution_wirings", "Attribution with the template held fixed, % of common items",
        ("spec", "model", "attribution", "stated", "plain", "assessment", "scored", "dropped"), made,
        "Executed attribution from the plain and from the assessment arms, on the items where all of them parsed.",
        "modality paper, table 9")


def known_sufficiency(rows: Rows, resamples: Resamples) -> Table | None:
    metrics = ("known_sufficiency", "overclaimed_sufficiency", "underclaimed_sufficiency", "calibration_gap",
               "insufficiency_recall")
    made = [(spec, regime or "-", model, given, *estimates(part, resamples, metrics))
            for (spec, regime, model, given), part in cells(rows, "spec", "regime", "model", "facts.arm")
            if len(singles(part))]
    return table(
        "known_sufficiency",
        "The flag against the sufficiency known by construction, by regime, %",
        ("spec", "regime", "model", "given", "flag right", "overclaimed", "underclaimed", "gap, points", "recall"),
        made,
        "Overclaimed: SUFFICIENT although the input does not settle the answer; underclaimed: the reverse. These grade "
        "the claim about the evidence; gap and recall grade it against the model's own behaviour.",
        "control; no like in the paper",
    )
