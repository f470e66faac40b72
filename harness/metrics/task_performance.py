"""Task performance by arm and template, and what the assessment prompt costs (modality paper, tables 5-7 and 10).

Scores are over all attempted rows: a row that did not parse scores nothing and stays in the denominator. A generation
that a film's rows share counts once for each of them. Which score a suite uses stands in ``facts["score"]``.
"""

from __future__ import annotations

import json

import numpy as np

from ..bootstrap import ratio, share, total
from ..errors import DataError
from ..outcome import Outcome
from ..rows import Floats, Rows
from .arms import ASSESSMENT, PLAIN, multiplicity, suite
from .metric import metric


def assessed_pairs(rows: Rows) -> Rows:
    """Attempted assessment rows whose plain partner was attempted too."""
    rows = suite(rows).where(template=ASSESSMENT)
    found, partners = rows.partners("template", PLAIN)
    return rows.take(found).take(partners.attempted)


def parsed_pairs(rows: Rows) -> Rows:
    rows = assessed_pairs(rows)
    _, partners = rows.partners("template", PLAIN)
    return rows.take(rows.usable & partners.usable)


@metric("%", ideal=100, rows=suite)
def task_score(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """Accuracy, macro-F1 over the classes, or F1 of sets averaged over items, in %: as the suite declares. Ideal 100.

    Raises:
        DataError: rows of suites with different scores; filter by spec.
    """
    kinds = sorted({str(o.facts.get("score", "accuracy")) for o in rows.outcomes})
    if len(kinds) > 1:
        raise DataError(f"task_score: rows with the scores {', '.join(kinds)} have no common one; add a filter by spec")
    if kinds == ["macro_f1"]:
        return _macro_f1(rows, weights)
    times = multiplicity(rows)
    each = _set_f1(rows) if kinds == ["sample_f1"] else rows.correct * 1.0
    return 100 * ratio(total(rows, weights, each * times), total(rows, weights, times))


@metric("points", ideal=0, rows=assessed_pairs)
def assessment_cost(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """Task score under the assessment template minus under the plain one, in points, paired. Ideal 0. Table 10."""
    _, plain = rows.partners("template", PLAIN)
    return task_score.compute(rows, weights) - task_score.compute(plain, weights)


@metric("%", ideal=0, rows=parsed_pairs)
def answer_moved(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x inputs whose parsed answer differs between the two templates, in %. Ideal 0. Table 10."""
    _, plain = rows.partners("template", PLAIN)
    times = multiplicity(rows)
    moved = rows.codes("choice") != plain.codes("choice")
    return 100 * ratio(total(rows, weights, moved * times), total(rows, weights, times))


@metric("%", ideal=0, rows=lambda rows: repeated(rows))
def repeat_changes(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x repeats whose answer differs from the first one, in %, both usable: the noise floor. Ideal 0. E.2."""
    _, first = rows.partners("repeat", 0)
    return share(rows, weights, rows.codes("choice") != first.codes("choice"))


def repeated(rows: Rows) -> Rows:
    rows = suite(rows)
    rows = rows.take(~rows.among("repeat", 0) & rows.usable)
    found, first = rows.partners("repeat", 0)
    return rows.take(found).take(first.usable)


def _set_f1(rows: Rows) -> np.ndarray:
    """(n,) F1 of the answered against the expected set; two empty sets agree."""
    def of(o: Outcome) -> float:
        if o.choice is None or o.status != "usable":
            return 0.0
        said, gold = set(json.loads(o.choice)), set(json.loads(o.expected))
        return 2 * len(said & gold) / (len(said) + len(gold)) if said or gold else 1.0
    score = [of(o) if o.answer_space == "set" else float(bool(o.correct)) for o in rows.outcomes]
    return np.array(score)


def _macro_f1(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """Mean over the classes of 2 TP / (2 TP + FP + FN); a class that neither occurs nor is answered does not enter."""
    usable = rows.usable
    classes = rows.distinct("expected")
    scores = []
    for label in classes:
        gold, said = rows.among("expected", label), usable & rows.among("choice", label)
        hits = total(rows, weights, gold & said)
        scores.append(ratio(2 * hits, total(rows, weights, gold) + total(rows, weights, said)))
    table = np.array(scores)
    seen = np.isfinite(table)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: Floats = 100 * np.where(seen, table, 0).sum(0) / seen.sum(0)
    return mean
