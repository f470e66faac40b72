"""Requests as tokens, and the seeded order in which they are trained: like lengths together, little padding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..probe import Request

if TYPE_CHECKING:
    import torch

    from .base import Prompter

NEIGHBOURS = 32
"""Steps whose requests are sorted by length together: enough for little padding, few enough to stay shuffled."""


@dataclass(frozen=True, slots=True)
class Example:
    """One request as the model sees it; ``right`` is an index into ``candidates``, the ids of its option letters."""

    ids: tuple[int, ...]
    candidates: tuple[int, ...]
    right: int


def examples(requests: Iterable[Request], prompter: Prompter) -> list[Example]:
    out = []
    for r in requests:
        letters = r.letters
        keys = list(letters.values())
        out.append(Example(tuple(prompter.ids(r)), tuple(prompter.letters(letters)), keys.index(r.truth.expected)))
    return out


def steps(lengths: Sequence[int], size: int, seed: int, epoch: int) -> list[list[int]]:
    """Indices of one epoch, ``size`` a step (the last may be smaller): shuffled, sorted by length among neighbours,
    shuffled again step by step. The same seed and epoch give the same order everywhere."""
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths)).tolist()
    out = []
    for start in range(0, len(order), size * NEIGHBOURS):
        part = sorted(order[start : start + size * NEIGHBOURS], key=lambda i: (lengths[i], i))
        out += [part[i : i + size] for i in range(0, len(part), size)]
    return [out[i] for i in rng.permutation(len(out))]


@dataclass(slots=True)
class Batch:
    """Right-padded: the model is causal, so what follows the last token changes nothing before it and needs no mask.

    Attributes:
        ids: (n, t) int64.
        last: (n,) position of each request's last token.
        candidates: (n, c) ids of option letters, padded with 0; ``valid`` (n, c) says which are there.
        right: (n,).
    """

    ids: torch.Tensor
    last: torch.Tensor
    candidates: torch.Tensor
    valid: torch.Tensor
    right: torch.Tensor


def collate(chosen: Sequence[Example]) -> Batch:
    import torch

    n, t, c = len(chosen), max(len(e.ids) for e in chosen), max(len(e.candidates) for e in chosen)
    ids, candidates = torch.zeros(n, t, dtype=torch.long), torch.zeros(n, c, dtype=torch.long)
    valid = torch.zeros(n, c, dtype=torch.bool)
    for i, e in enumerate(chosen):
        ids[i, : len(e.ids)] = torch.tensor(e.ids)
        candidates[i, : len(e.candidates)] = torch.tensor(e.candidates)
        valid[i, : len(e.candidates)] = True
    return Batch(ids, torch.tensor([len(e.ids) - 1 for e in chosen]), candidates, valid,
                 torch.tensor([e.right for e in chosen]))
