"""Agreement of all views on one core variant (optical-spectra paper, section 4.2, C_R(v); table 4).

R holds the core views of the spec that any model of the run was shown: all of them, or only the tables. A variant
enters when its model has a request in every view of R, so a text-only model has no agreement over all six. A row
that is not usable agrees with nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..bootstrap import ratio, share, total
from ..rows import Rows
from .accuracy import core
from .metric import metric

VARIANT = ("spec", "task", "instance", "variant", "template", "repeat", "model")


def all_views(rows: Rows) -> Rows:
    return _complete(rows, core(rows.everything), core(rows))


def table_views(rows: Rows) -> Rows:
    return _complete(rows, core(rows.everything.where(modality="table")), core(rows.where(modality="table")))


def _complete(rows: Rows, shown: Rows, rows_in_views: Rows) -> Rows:
    """The rows of the variants that have all the views shown in their spec; two views at least."""
    if not len(rows_in_views):
        return rows_in_views
    views_of_spec = np.zeros(len(rows.everything), int)
    _, first = np.unique(shown.groups("spec", "view"), return_index=True)
    np.add.at(views_of_spec, shown.groups("spec")[first], 1)
    needed = views_of_spec[rows_in_views.groups("spec")]
    group = rows_in_views.groups(*VARIANT)
    return rows_in_views.take((np.bincount(group)[group] == needed) & (needed > 1))


def _by_variant(rows: Rows) -> tuple[Rows, np.ndarray, np.ndarray]:
    """One row for each variant, whether all its usable choices are the same, and whether all are correct."""
    _, first, variant = np.unique(rows.groups(*VARIANT), return_index=True, return_inverse=True)
    choice = np.where(rows.usable, rows.codes("choice"), -1)
    differs = (choice != choice[first][variant]) | (choice < 0)
    same = np.bincount(variant, differs, len(first)) == 0
    correct = np.bincount(variant, ~rows.correct, len(first)) == 0
    return rows.take(first), same, correct


@metric("%", ideal=100, rows=table_views)
def agreement_tables(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x variants answered the same in all core tables / variants, in %. Ideal 100. "All-four" of table 4."""
    variants, same, _ = _by_variant(rows)
    return share(variants, weights, same)


@metric("%", ideal=100, rows=all_views)
def agreement_all(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x variants answered the same in all core views / variants, in %. Ideal 100. "All-six" of table 4."""
    variants, same, _ = _by_variant(rows)
    return share(variants, weights, same)


@metric("%", ideal=0, rows=all_views)
def consistent_wrong(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x variants answered the same and wrong in all core views / variants, in %. Ideal 0. "Wrong" of table 4."""
    variants, same, correct = _by_variant(rows)
    return share(variants, weights, same & ~correct)


@metric("%", ideal=100, rows=all_views)
def all_correct(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x variants answered correctly in all core views / variants, in %. Ideal 100."""
    variants, _, correct = _by_variant(rows)
    return share(variants, weights, correct)


@metric("%", ideal=None, rows=all_views)
def all_correct_independent(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x sum over task types t of (share of variants in t) x (product over views r of accuracy in t and r), in %.

    What ``all_correct`` would be if errors were independent between views. "Indep." of table 4; no ideal value.
    """
    expected, variants = np.zeros(len(weights)), np.zeros(len(weights))
    for views in _task_types(rows):
        n = total(views[0], weights)
        accuracies = [ratio(total(view, weights, view.correct), total(view, weights)) for view in views]
        expected += n * np.nan_to_num(np.prod(accuracies, axis=0))
        variants += n
    return 100 * ratio(expected, variants)


def _task_types(rows: Rows) -> Iterator[list[Rows]]:
    """For each spec, task, template and model: its rows, view by view."""
    kind = rows.groups("spec", "task", "template", "model")
    view = rows.groups("view")
    for k in np.unique(kind):
        yield [rows.take((kind == k) & (view == v)) for v in np.unique(view[kind == k])]
