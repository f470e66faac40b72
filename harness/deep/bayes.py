"""A naive Bayes classifier on binned features, cross-validated by groups, for many labellings of the same rows at once.

It is the smallest classifier that sees any relation between one feature and the answer, not only a monotone one, and
whose counts add up: what a fold was trained on is the total without the fold, so thousands of permuted labellings cost
a few matrix products.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

FOLDS = 10
SMOOTHING = 0.5
"""Added to every count; Jeffreys' prior."""
CHUNK = 4_000_000
"""Numbers held at once."""


def folds_of(groups: Sequence[str], seed: int = 0) -> np.ndarray:
    """(n,) fold of every row; a group lies in one fold, and folds hold equally many groups."""
    names = sorted(set(groups))
    order = np.random.default_rng(seed).permutation(len(names)) % min(FOLDS, len(names))
    place = dict(zip(names, order, strict=True))
    return np.array([place[g] for g in groups])


def right(columns: Sequence[np.ndarray], labels: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """Whether each row is predicted right by a classifier that was not trained on its fold.

    Args:
        columns: bins (n,) of each feature.
        labels: (p, n) integers from 0; every row is one labelling.
        folds: (n,).

    Returns:
        (p, n) bool.
    """
    classes = int(labels.max()) + 1
    step = max(1, CHUNK // (labels.shape[1] * classes))
    return np.concatenate([_right(columns, labels[i : i + step], folds, classes)
                           for i in range(0, len(labels), step)])


def _right(columns: Sequence[np.ndarray], labels: np.ndarray, folds: np.ndarray, classes: int) -> np.ndarray:
    p, n = labels.shape
    shown = (labels.T[:, :, None] == np.arange(classes)).astype(np.float32).reshape(n, p * classes)
    bins = [(c[:, None] == np.arange(c.max() + 1)).astype(np.float32) for c in columns]
    whole, total = [b.T @ shown for b in bins], shown.sum(0)
    out = np.zeros((p, n), bool)
    for fold in range(int(folds.max()) + 1):
        rows = np.flatnonzero(folds == fold)
        own = shown[rows]
        seen = total - own.sum(0)
        score = np.repeat(np.log(seen + SMOOTHING)[None], len(rows), 0)
        for b, all_of_it, column in zip(bins, whole, columns, strict=True):
            counts = all_of_it - b[rows].T @ own
            chances = np.log(counts + SMOOTHING) - np.log(seen + SMOOTHING * len(counts))
            score += chances[column[rows]]
        guess = score.reshape(len(rows), p, classes).argmax(2)
        out[:, rows] = guess.T == labels[:, rows]
    return out
