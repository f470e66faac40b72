"""The next-token distribution restricted to the option letters (optical-spectra paper, appendices B and E).

The backend sums a letter's token spellings and hands over log-probabilities by option key. The choice is the largest;
probabilities are the softmax over the letters. Where the server left a letter out of its candidates, that letter lies
below all that are there: the choice stands and the probabilities are unavailable. Without any score the reply's text
is read as a letter.
"""

from __future__ import annotations

from ..probe import Reading, Request, Response
from .match import match_option
from .scores import argmax, probabilities
from .text import without_thinking


def read(request: Request, response: Response) -> Reading:
    """The most probable letter's option and the softmax over the letters."""
    scored = {o.key: response.option_scores[o.key] for o in request.options if o.key in response.option_scores}
    scored = {k: v for k, v in scored.items() if v == v}  # not NaN
    if scored:
        shares = probabilities(request, response)
        missing = [letter for letter, key in request.letters.items() if key not in scored]
        return Reading(argmax(shares) or argmax(scored), shares, notes={"letters_missing": missing} if missing else {})
    choice, how = match_option(without_thinking(response.text), request)
    if choice is None:
        return Reading(None, missing=("answer",), near_misses=(how,) if how != "empty" else ())
    return Reading(choice, notes={"from_text": how})
