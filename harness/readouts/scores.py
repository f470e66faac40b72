"""Option scores as probabilities, and the choice that goes with them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..probe import Request, Response


def probabilities(request: Request, response: Response) -> dict[str, float]:
    """The reply's option scores as probabilities that sum to 1, in the request's order of options.

    Empty when any option has no score, a score is not finite or negative, or all are zero: a missing score is
    unavailable, and 0 would be a statement that the model never made.
    """
    scores = response.option_scores
    if not request.options or any(o.key not in scores for o in request.options):
        return {}
    return normalised({o.key: scores[o.key] for o in request.options}, logs=response.scores_are == "logprobs")


def normalised(values: Mapping[str, float], *, logs: bool = False) -> dict[str, float]:
    """``values`` scaled to sum 1 (softmax where they are logarithms); empty where they are no weights at all."""
    if not values or not all(map(finite, values.values())):
        return {}
    weights = {k: float(v) for k, v in values.items()}
    if logs:
        top = max(weights.values())
        weights = {k: math.exp(v - top) for k, v in weights.items()}
    total = sum(weights.values())  # fsum raises where this is infinite
    if min(weights.values()) < 0 or total <= 0 or not math.isfinite(total):
        return {}
    return {k: v / total for k, v in weights.items()}


def finite(value: object) -> bool:
    """Whether a value is a finite number; JSON may hold integers that no float can."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def argmax(values: Mapping[str, float]) -> str | None:
    """The key of the largest value, the first of equals; None where there is none."""
    return max(values, key=values.__getitem__) if values else None


def disagreement(choice: str | None, shares: Mapping[str, float]) -> dict[str, bool]:
    """The note that a stated choice is not the most probable option; empty when it is, or when nothing is known."""
    if choice is None or not shares or shares.get(choice, -1.0) >= max(shares.values()):
        return {}
    return {"argmax_differs": True}
