"""Probes of the decision interface: the same question and evidence, the alternatives presented otherwise.

Each probe row is compared with its base, the row of the same model, view and repeat whose variant it was made from.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..bootstrap import ratio, share, total
from ..outcome import Outcome
from ..probe import RequestKey
from ..rows import Rows
from .metric import attempted, metric

NONE, SAME, FLIPPED, UNREADABLE = range(4)


def _compared(rows: Rows) -> np.ndarray:
    """(n,) for all rows: NONE without a base that was attempted, else SAME, FLIPPED, or UNREADABLE if either is."""
    out = np.zeros(len(rows))
    for i, (outcome, base) in enumerate(_with_base(rows)):
        if base is not None:
            readable = outcome.status == base.status == "usable"
            out[i] = (SAME if outcome.choice == base.choice else FLIPPED) if readable else UNREADABLE
    return out


def _base_correct(rows: Rows) -> np.ndarray:
    """(n,) for all rows: 1 where there is a base and it is right."""
    return np.array([float(base is not None and base.correct is True) for _, base in _with_base(rows)])


def _with_base(rows: Rows) -> Iterator[tuple[Outcome, Outcome | None]]:
    """Each outcome with the one of the same instance without the probe, where it is a probe and there is one."""
    by_key = {o.key: o for o in rows.outcomes if o.status != "lost"}
    for outcome in rows.outcomes:
        base, _, probe = outcome.variant.partition("+")
        yield outcome, by_key.get(_replace(outcome.key, base)) if probe else None


def _replace(key: str, variant: str) -> str:
    parsed = RequestKey.parse(key)
    return str(RequestKey(parsed.spec, parsed.task, parsed.instance, variant, parsed.view, parsed.template, parsed.repeat,
                          parsed.model))


def probed(rows: Rows) -> Rows:
    """Attempted probe rows whose base was attempted too."""
    rows = attempted(rows)
    return rows.take(rows.derived("interface", _compared) != NONE)


def readable(rows: Rows) -> Rows:
    rows = probed(rows)
    return rows.take(rows.derived("interface", _compared) != UNREADABLE)


@metric("%", ideal=0, rows=readable)
def interface_flips(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x probes whose choice differs from their base's / probes with two readable choices, in %. Ideal 0."""
    return share(rows, weights, rows.derived("interface", _compared) == FLIPPED)


@metric("points", ideal=0, rows=probed)
def interface_effect(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x mean(correct - correct of the base), in points, over probes. Ideal 0."""
    difference = rows.correct * 1.0 - rows.derived("interface base", _base_correct)
    return 100 * ratio(total(rows, weights, difference), total(rows, weights))
