"""The generative route: a JSON object with ``choice`` and ``probabilities`` (optical-spectra paper, appendix B).

One defined outcome for each way it comes back:

- the object alone, inside a fence, or inside other text: read, noted as ``wrapped``; the last of several
- a trailing comma: removed, noted as ``repaired``
- a choice written ``B. 4``, ``**B**`` or ``ANSWER: B,``: see :mod:`harness.readouts.match`; noted as ``choice_form``
- a choice that was not offered, is null, a number or a list: unparsed, near miss ``not_offered``
- no object at all: unparsed, near miss ``no_json``; the text is not searched for something like an answer
- probabilities that do not sum to 1: renormalised, raw values kept in the notes
- probabilities that miss an option, are negative or no numbers: unavailable, noted as ``probabilities_unusable``
- a choice that is not the most probable option: kept as said, noted as ``argmax_differs``
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from ..probe import Reading, Request, Response
from .match import match_option
from .scores import disagreement, normalised
from .text import without_thinking

_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_LONGEST = 200_000


def read(request: Request, response: Response) -> Reading:
    """The choice and the self-reported probabilities of one reply."""
    text = without_thinking(response.text)
    found, notes = _find_object(text)
    if found is None:
        return Reading(None, missing=("answer",), near_misses=("no_json",))
    said = found.get("choice")
    choice, how = match_option(said, request) if isinstance(said, str) else (None, "not_offered")
    if choice is None:
        return Reading(None, missing=("answer",), near_misses=(how,), notes=notes | {"said": str(said)[:200]})
    if how != "exact":
        notes["choice_form"] = how
    shares, more = _probabilities(found.get("probabilities"), request)
    return Reading(choice, shares, notes=notes | more | disagreement(choice, shares))


def _find_object(text: str) -> tuple[Mapping[str, Any] | None, dict[str, Any]]:
    """The last JSON object with a ``choice`` in ``text``, and how it had to be got out."""
    text = text[:_LONGEST]
    whole = _decode(text.strip())
    if isinstance(whole, dict) and "choice" in whole:
        return whole, {}
    for repaired in (False, True):
        source = _TRAILING_COMMA.sub(r"\1", text) if repaired else text
        found = [o for o in _objects(source) if "choice" in o]
        if found:
            alone = source.strip().startswith("{") and source.strip().endswith("}")
            how = {"repaired": "trailing_comma"} if repaired else {}
            return found[-1], how if alone else {"wrapped": True, **how}
    return None, {}


def _objects(text: str) -> list[dict[str, Any]]:
    decoder, at, found = json.JSONDecoder(), text.find("{"), []
    for _ in range(200):  # a reply of ten thousand braces must not cost quadratic time
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(value, dict):
                found.append(value)
        at = text.find("{", end)
    return found


def _decode(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _probabilities(said: Any, request: Request) -> tuple[dict[str, float], dict[str, Any]]:
    if said is None:
        return {}, {}
    if not isinstance(said, dict):
        return {}, {"probabilities_unusable": True}
    values: dict[str, float] = {}
    for name, value in said.items():
        key, _ = match_option(str(name), request)
        if key is not None and isinstance(value, int | float) and not isinstance(value, bool):
            values[key] = float(value) if abs(value) < 1e300 else math.inf
    shares = normalised({o.key: values[o.key] for o in request.options}) if len(values) == len(request.options) else {}
    if not shares:
        return {}, {"probabilities_unusable": True}
    total = math.fsum(values.values())
    return shares, {} if abs(total - 1) < 1e-6 else {"raw_probabilities": values}
