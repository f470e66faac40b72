"""Labellings that are as likely as the true one when surface features say nothing about the answer.

Labels move between groups as whole blocks, and within a group between its variants. Where a question names an interval,
an answer outside it is no possible answer; then two groups exchange their labels only when each label is possible in
its new place, so that chance knows what the interval excludes and nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

SWEEPS = 12
"""Proposed exchanges a group, until a labelling has forgotten where it began."""


def labellings(groups: Sequence[str], count: int, seed: int = 0,
               possible: Callable[[int, int], bool] | None = None) -> np.ndarray:
    """``count`` permutations of the units of ``groups``.

    Args:
        groups: group of every unit.
        possible: whether the label of one unit may stand at another; None allows all.

    Returns:
        (count, n) integers: the unit whose label stands at each place.
    """
    rng = np.random.default_rng(seed)
    blocks: dict[str, list[int]] = {}
    for i, g in enumerate(groups):
        blocks.setdefault(g, []).append(i)
    out = np.empty((count, len(groups)), int)
    for size in sorted({len(b) for b in blocks.values()}):
        alike = np.array([b for b in blocks.values() if len(b) == size])
        moved = alike[_order(alike, count, rng, possible)]  # (count, groups, size)
        moved = rng.permuted(moved, axis=2) if size > 1 else moved
        out[:, alike.ravel()] = moved.reshape(count, -1)
    return out


def _order(alike: np.ndarray, count: int, rng: np.random.Generator, possible: Callable[[int, int], bool] | None
           ) -> np.ndarray:
    """(count, groups): which group's block stands at each group's place."""
    n = len(alike)
    start = np.tile(np.arange(n), (count, 1))
    if possible is None:
        return rng.permuted(start, axis=1)
    fits = np.array([[all(possible(a, b) for a in source for b in place) for place in alike] for source in alike])
    if fits.all():
        return rng.permuted(start, axis=1)
    chain = np.arange(count)
    for _ in range(SWEEPS * n):
        i, j = rng.integers(n, size=(2, count))
        at_i, at_j = start[chain, i], start[chain, j]
        swap = fits[at_i, j] & fits[at_j, i]
        start[chain, i], start[chain, j] = np.where(swap, at_j, at_i), np.where(swap, at_i, at_j)
    return start
