"""Reading by name, and the average over the forward and the reversed order of options (``permute: reverse``)."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from ..errors import KeyLookupError, near
from ..probe import Reading, Request, Response
from . import READOUTS
from .scores import argmax

Read = Callable[[Request, Response], Reading]


@cache
def readout(name: str) -> Read:
    """The readout of that name. Raises KeyLookupError, with the nearest name, where there is none."""
    if name not in READOUTS:
        raise KeyLookupError(f"readout {name!r} is unknown{near(name, READOUTS)}")
    return pkgutil.resolve_name(READOUTS[name])


def read(replies: Sequence[tuple[Request, Response]]) -> Reading:
    """The reading of one item's replies: of the one, or the average over the orders of its options."""
    readings = [readout(request.readout)(request, response) for request, response in replies]
    return readings[0] if len(readings) == 1 else average(readings)


def reversed_request(request: Request, compose: Callable[[Request], str]) -> Request:
    """The same question with its options in reverse; ``compose`` writes the prompt text anew."""
    turned = replace(request, options=request.options[::-1])
    return replace(turned, prompt=compose(turned))


def average(readings: Sequence[Reading]) -> Reading:
    """Mean probabilities and their arg-max; the first reading's choice among equals.

    Without probabilities in all of them the choice is the one they agree on; where they do not, there is none and the
    near miss is ``orders_disagree``. A reading without a choice makes the whole one unread. Notes hold each choice.
    """
    notes: dict[str, Any] = {"order_choices": [r.choice for r in readings]}
    for key in dict.fromkeys(k for r in readings for k in r.notes):
        notes[key] = next(r.notes[key] for r in readings if key in r.notes)
    missing = tuple(dict.fromkeys(m for r in readings for m in r.missing))
    slips = tuple(dict.fromkeys(m for r in readings for m in r.near_misses))
    first = readings[0]
    if any(r.choice is None for r in readings):
        return Reading(None, missing=missing or ("answer",), near_misses=slips, notes=notes)
    if all(r.probabilities for r in readings):
        mean = {k: sum(r.probabilities[k] for r in readings) / len(readings) for k in first.probabilities}
        choice = first.choice if mean[str(first.choice)] >= max(mean.values()) - 1e-12 else argmax(mean)
        return Reading(choice, mean, first.claims, missing, slips, notes)
    if len({r.choice for r in readings}) > 1:
        return Reading(None, missing=("answer",), near_misses=("orders_disagree",), notes=notes)
    return Reading(first.choice, {}, first.claims, missing, slips, notes)
