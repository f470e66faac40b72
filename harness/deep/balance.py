"""How often each answer, each position of the right option and each cut occurs. A view repeats a variant: it counts once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .survey import Item

MANY = 12
"""Answers beyond this many kinds are summed up as 'others'."""


@dataclass(frozen=True, slots=True)
class Balance:
    """Counts of one thing in one task. ``largest`` is the share, in percent, that always naming the commonest gets."""

    task: str
    what: str
    counts: dict[str, int]
    largest: float


def balances(items: Sequence[Item]) -> list[Balance]:
    out = []
    for task in dict.fromkeys(i.key.task for i in items):
        units = {i.unit: i for i in items if i.key.task == task and not i.shared and not i.probe}.values()
        columns = {
            "answer": [i.expected for i in units],
            "position of the right option": [str(i.options.index(i.expected) + 1) for i in units
                                             if i.expected in i.options],
            "cut": [i.cut for i in units if i.cut],
            "part cut away": [i.deletion for i in units if i.cut == "inside"],
            "regime": [i.facts["regime"] for i in units if "regime" in i.facts],
        }
        out += [_balance(task, what, values) for what, values in columns.items() if values]
    return out


def _balance(task: str, what: str, values: Sequence[str]) -> Balance:
    counts = Counter(values)
    largest = 100 * max(counts.values()) / len(values)
    if len(counts) > MANY:
        common = dict(counts.most_common(MANY))
        shown = {**common, f"{len(counts) - MANY} others": len(values) - sum(common.values())}
    else:
        shown = dict(sorted(counts.items()))
    return Balance(task, what, shown, largest)
