"""Requests as tokens, and the seeded order in which they are trained.

Two things save most of the work. Requests about the same evidence stand in the same step, and their common beginning is
computed once: each question follows it in one row, sees it and itself, and nothing of the other questions. And rows of
like length come together, so there is little padding. Neither changes what is learned from a request.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
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
    """One request as the model sees it.

    Attributes:
        ids: the prompt.
        candidates: the ids of its option letters.
        right: index of the right one in ``candidates``.
        evidence: equal for requests with the same evidence.
    """

    ids: tuple[int, ...]
    candidates: tuple[int, ...]
    right: int
    evidence: str = ""


def examples(requests: Iterable[Request], prompter: Prompter) -> list[Example]:
    out = []
    for r in requests:
        letters = r.letters
        keys = list(letters.values())
        evidence = hashlib.sha256(r.evidence_text.encode()).hexdigest()[:16]
        out.append(Example(tuple(prompter.ids(r)), tuple(prompter.letters(letters)), keys.index(r.truth.expected),
                           evidence))
    return out


def steps(learn: Sequence[Example], size: int, seed: int, epoch: int) -> list[list[int]]:
    """Indices of one epoch, ``size`` a step (the last may be smaller).

    Evidence is shuffled, sorted by length among neighbours, and cut into steps, which are shuffled again. The same seed
    and epoch give the same order everywhere.
    """
    rng = np.random.default_rng([seed, epoch])
    groups: dict[str, list[int]] = {}
    for i, e in enumerate(learn):
        groups.setdefault(e.evidence or str(i), []).append(i)
    units = list(groups.values())
    units = [units[k] for k in rng.permutation(len(units))]
    out: list[list[int]] = []
    rest: list[int] = []
    part: list[list[int]] = []
    for k, unit in enumerate(units):
        part.append(unit)
        last = k == len(units) - 1
        if sum(map(len, part)) >= size * NEIGHBOURS or last:
            part.sort(key=lambda u: (len(learn[u[0]].ids), u))
            line = rest + [i for u in part for i in u]
            whole = len(line) if last else len(line) - len(line) % size
            out += [line[i : i + size] for i in range(0, whole, size)]
            rest, part = line[whole:], []
    return [out[i] for i in rng.permutation(len(out))]


@dataclass(slots=True)
class Batch:
    """Rows of tokens, padded on the right.

    Attributes:
        ids, positions: (rows, t) int64.
        mask: (rows, 1, t, t) bool, who sees whom; None where every row is one request: the model is causal, so what
            follows a last token changes nothing before it.
        beginning: so many tokens of every row see all before them, where there is a mask.
        row, last: (n,) where each request's last token stands.
        candidates: (n, c) ids of option letters, padded with 0; ``valid`` (n, c) says which are there.
        right: (n,).
    """

    ids: torch.Tensor
    positions: torch.Tensor
    mask: torch.Tensor | None
    beginning: int
    row: torch.Tensor
    last: torch.Tensor
    candidates: torch.Tensor
    valid: torch.Tensor
    right: torch.Tensor


def common(rows: Sequence[tuple[int, ...]]) -> int:
    """Length of the common beginning, at least one token short of the shortest."""
    same = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, zip(*rows, strict=False)))
    return min(same, min(map(len, rows)) - 1)


def collate(chosen: Sequence[Example], share: bool = True) -> Batch:
    """The requests as one batch; ``share`` puts those with the same evidence into one row."""
    import torch

    groups: dict[str, list[int]] = {}
    for i, e in enumerate(chosen):
        groups.setdefault(e.evidence if share and e.evidence else str(i), []).append(i)
    starts = [common([chosen[i].ids for i in g]) for g in groups.values()]
    t = max(n + sum(len(chosen[i].ids) - n for i in g) for n, g in zip(starts, groups.values(), strict=True))
    n, c = len(chosen), max(len(e.candidates) for e in chosen)
    ids, positions = (torch.zeros(len(groups), t, dtype=torch.long) for _ in range(2))
    part = torch.full((len(groups), t), -1)
    row, last = torch.zeros(n, dtype=torch.long), torch.zeros(n, dtype=torch.long)
    for r, (start, group) in enumerate(zip(starts, groups.values(), strict=True)):
        ids[r, :start] = torch.tensor(chosen[group[0]].ids[:start])
        positions[r, :start], part[r, :start] = torch.arange(start), 0
        at = start
        for k, i in enumerate(group, 1):
            own = torch.tensor(chosen[i].ids[start:])
            ids[r, at : at + len(own)], part[r, at : at + len(own)] = own, k
            positions[r, at : at + len(own)] = torch.arange(start, start + len(own))
            at += len(own)
            row[i], last[i] = r, at - 1
    mask = None
    if len(groups) < n:
        seen = (part[:, None, :] == 0) | (part[:, None, :] == part[:, :, None])
        mask = (seen & torch.ones(t, t, dtype=torch.bool).tril())[:, None]
    candidates, valid = torch.zeros(n, c, dtype=torch.long), torch.zeros(n, c, dtype=torch.bool)
    for i, e in enumerate(chosen):
        candidates[i, : len(e.candidates)] = torch.tensor(e.candidates)
        valid[i, : len(e.candidates)] = True
    return Batch(ids, positions, mask, min(starts), row, last, candidates, valid, torch.tensor([e.right for e in chosen]))
