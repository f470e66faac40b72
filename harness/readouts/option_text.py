"""Each option's text scored as a continuation, for base models that cannot answer with a letter.

The choice goes by the sum of the token log-probabilities; the one by the mean per token is noted beside it
(``per_token_choice``), as lm-eval's acc and acc_norm do. The backend counts the tokens in ``extra["option_tokens"]``.
"""

from __future__ import annotations

from typing import Any

from ..probe import Reading, Request, Response
from .scores import argmax, probabilities


def read(request: Request, response: Response) -> Reading:
    """The option whose text is the most probable continuation."""
    shares = probabilities(request, response)
    if not shares:
        return Reading(None, missing=("answer",), near_misses=("scores_missing",))
    tokens = response.extra.get("option_tokens", {})
    notes: dict[str, Any] = {}
    choice = argmax(shares)
    if shares and all(tokens.get(k) for k in shares):
        mean = {k: response.option_scores[k] / tokens[k] for k in shares}
        notes = {"raw_choice": choice, "per_token_choice": argmax(mean), "raw_logprobs": {
            k: float(response.option_scores[k]) for k in shares}, "option_tokens": {k: int(tokens[k]) for k in shares}}
    return Reading(choice, shares, notes=notes)
