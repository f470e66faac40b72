"""Agreement of all views on one core variant (optical-spectra paper, section 4.2, C_R(v); table 4).

R holds the core views of the spec that any model of the run was shown: all of them, or only the tables. A variant
enters when its model has a request in every view of R, so a text-only model has no agreement over all six. A row
that is not usable agrees with nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..bootstrap import ratio, share, total
from ..rows import Rows
from .accuracy import core
from .metric import metric

VARIANT = ("model", "spec", "task", "instance", "variant", "template", "repeat")


def all_views(rows: Rows) -> Rows:
    return _complete(core(rows), "core views", core)


def table_views(rows: Rows) -> Rows:
    return _complete(_core_tables(rows), "core tables", _core_tables)


def _core_tables(rows: Rows) -> Rows:
    return core(rows.where(modality="table"))


def _complete(rows: Rows, name: str, shown: Callable[[Rows], Rows]) -> Rows:
    """The rows of the variants that have all the views shown in their spec; two views at least."""
    def views_of_spec(everything: Rows) -> np.ndarray:
        seen = shown(everything)
        views, spec = seen.groups("spec", "view"), seen.codes("spec")
        _, first = np.unique(views, return_index=True)
        return np.bincount(spec[first], minlength=everything.codes("spec").max() + 1)[everything.codes("spec")]
    if not len(rows):
        return rows
    needed, group = rows.derived(name, views_of_spec), rows.groups(*VARIANT)
    return rows.take((np.bincount(group)[group] == needed) & (needed > 1))


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
    kind = rows.groups("model", "spec", "task", "template")
    for k in np.unique(kind):
        yield [view for _, view in rows.take(kind == k).split("view")]
