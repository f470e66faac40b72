"""A typed decision: the choice and the probability of every option, as the service reports them.

A reported choice stands as it is, also where it is not its own most probable option (noted as ``argmax_differs``).
Probabilities are renormalised (services round them); their raw sum is noted where it is off by more than rounding
noise. A refusal, and a choice that was not offered, are unparsed. Source: optical-spectra paper, section 4.1.
"""

from __future__ import annotations

import math
from typing import Any

from ..probe import Reading, Request, Response
from .scores import argmax, disagreement, probabilities


def read(request: Request, response: Response) -> Reading:
    """The decision of one reply; ``missing=("answer",)`` with ``refusal`` or ``not_offered`` where there is none."""
    shares = probabilities(request, response)
    offered = {o.key for o in request.options}
    notes: dict[str, Any] = {}
    if shares and response.scores_are == "probabilities":
        total = math.fsum(response.option_scores[k] for k in shares)
        if abs(total - 1) > 1e-6:
            notes["probability_sum"] = round(total, 6)
    if response.extra.get("refusal"):
        return Reading(None, missing=("answer",), near_misses=("refusal",))
    choice = response.choice or argmax(shares)
    if choice is None:
        return Reading(None, missing=("answer",))
    if choice not in offered:
        return Reading(None, missing=("answer",), near_misses=("not_offered",), notes={"said": choice[:200]})
    return Reading(choice, shares, notes=notes | disagreement(choice, shares))
