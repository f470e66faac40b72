"""Replies in the form that a request's readout expects, for backends that know their answer already."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from ..probe import Request, Response, Usage

FREE = Usage(tokens_out=0, cost_usd=0.0)
_NO_CHANCE = -1e9  # log-probability that stands for 0: JSON and the softmax need a finite number


def decided(request: Request, key: str, probabilities: Mapping[str, float]) -> Response:
    """The reply that decides for option ``key`` and gives ``probabilities`` (option key -> value, summing to 1).

    Where the answer is no option (an integer, a set), it is the text itself.
    """
    if request.readout == "labelled_lines":
        return lines(request, {"answer": key})
    if not request.options:
        return Response(text=key, usage=FREE)
    labels = {o.key: o.label for o in request.options}
    if request.readout == "json_choice":
        said = {"choice": labels.get(key, key), "probabilities": {labels[k]: p for k, p in probabilities.items()}}
        return Response(text=json.dumps(said, ensure_ascii=False), usage=FREE)
    if request.readout in ("option_letters", "option_text"):
        scores = {k: math.log(p) if p > 0 else _NO_CHANCE for k, p in probabilities.items()}
        return Response(option_scores=scores, scores_are="logprobs", label_mass=1.0, usage=FREE)
    return Response(choice=key, option_scores=dict(probabilities), scores_are="probabilities", usage=FREE)


def lines(request: Request, answers: Mapping[str, str]) -> Response:
    """Labelled lines in the demanded order; ``answers`` maps what a line is about to its value.

    Option keys become the labels that the request shows. A line nobody has a value for is left out.
    """
    labels = {o.key: o.label for o in request.options}
    demanded = request.answer.get("lines") or [{"label": "ANSWER", "about": "answer"}]
    said = [(line["label"], labels.get(answers[line["about"]], answers[line["about"]]))
            for line in demanded if line["about"] in answers]
    text = "\n".join(f"{label}: {value}" if label else value for label, value in said)  # some forms demand no label
    return Response(text=text, usage=FREE)
