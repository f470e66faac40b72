"""Has a model learned to find a minimum instead of a maximum? (optical-spectra paper, section 5.3)

``facts.reversed`` is the answer of the reversed rule, as the task knows it: the question answered for the other extremum
of the same spectra. Only requests on which the two rules differ can tell.
"""

from __future__ import annotations

import numpy as np

from ..bootstrap import share
from ..rows import Rows
from .metric import attempted, metric


def differing(rows: Rows) -> Rows:
    """Core requests on tables whose answer would be another one under the reversed rule."""
    rows = attempted(rows).where(core=True, modality="table")
    differs = [o.facts.get("reversed") not in (None, "", o.expected) for o in rows.outcomes]
    return rows.take(np.array(differs, bool))


@metric("%", ideal=0, rows=differing)
def reversed_rule(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x share of choices that are the reversed rule's, where it differs from the right one, in %. Ideal 0."""
    says = np.array([o.choice == o.facts["reversed"] for o in rows.outcomes], bool)
    return share(rows, weights, says & rows.usable)
