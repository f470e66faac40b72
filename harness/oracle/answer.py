"""Answers a request about spectra from its rendered evidence, its question and its options."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..errors import DataError
from ..probe import Option, Request
from . import question as q
from .chart import Chart, Curve
from .question import Asked


def answer(request: Request) -> str:
    """Key of the right option, judged from what the model is shown.

    Reads ``evidence``, ``question`` and ``options`` and nothing else. Where the options allow abstaining, it abstains
    when samples are missing anywhere in the range that the question is about.

    Raises:
        DataError: something cannot be read, or no single option fits; names the request.
    """
    try:
        return decide(read_evidence(request), q.understand(request.question), request.options)
    except DataError as error:
        raise DataError(f"{request.key}: {error}") from error


def read_evidence(request: Request) -> Chart:
    """The one image, or else the table in the text."""
    if request.images:
        from .plots import read_plot

        return read_plot(request.images[0].image)
    from .tables import read_table

    return read_table(request.evidence_text)


def decide(chart: Chart, asked: Asked, options: Sequence[Option]) -> str:
    """The decision on evidence that has been read."""
    undetermined = q.abstention(options)
    choices = [o for o in options if o.key != undetermined]
    if asked.shape == "compare":
        return compare(chart, asked, choices)
    if asked.shape == "specification":
        return specification(chart, asked, choices)
    (curve,) = chart.curves
    shown = curve
    if asked.span:
        if undetermined is not None and incomplete(curve, asked.span):
            return undetermined
        shown = curve.within(*asked.span)
    if asked.shape == "threshold":
        return threshold(shown, asked, choices)
    where, _ = shown.extremum(asked.extremum)
    return only([o for o in choices if q.band(o)[0] <= where <= q.band(o)[1]], f"{asked.extremum} at {where:.1f} nm")


def incomplete(curve: Curve, span: tuple[float, float]) -> bool:
    """Whether samples are missing inside ``span``.

    Spans end on a sample or half-way between two. While nothing is missing, unseen stretches reach at most half a step
    into the span; the removal of an interior extremum leaves at least a step and a half unseen. In between lies only
    the loss of the one sample on the span's end, which no cut of an interior extremum makes.
    """
    low, high = span
    enough = 1.25 * curve.step
    unseen = [(-math.inf, float(curve.nm[0])), *curve.holes(), (float(curve.nm[-1]), math.inf)]
    return any(min(b, high) - max(a, low) > enough for a, b in unseen)


def compare(chart: Chart, asked: Asked, options: Sequence[Option]) -> str:
    """The spectrum whose extremum lies at the longest (shortest) wavelength."""
    where = {o.key: chart.curve(q.spectrum(o)).extremum(asked.extremum)[0] for o in options}
    return max(where, key=where.__getitem__) if asked.direction == "longer" else min(where, key=where.__getitem__)


def specification(chart: Chart, asked: Asked, options: Sequence[Option]) -> str:
    """The spectrum whose extremum lies in the window and beyond the bound."""
    fitting = []
    for option in options:
        where, value = chart.curve(q.spectrum(option)).extremum(asked.extremum)
        beyond = value < asked.bound if asked.below else value > asked.bound
        if asked.window[0] <= where <= asked.window[1] and beyond:
            fitting.append(option)
    return only(fitting, f"{asked.extremum} in {asked.window[0]:g}-{asked.window[1]:g} nm beyond {asked.bound:g}")


def threshold(curve: Curve, asked: Asked, options: Sequence[Option]) -> str:
    """The side of the threshold on which the extremum lies."""
    where, _ = curve.extremum(asked.extremum)
    answer = "longer" if where > asked.threshold else "shorter"
    return only([o for o in options if q.side(o) == answer], f"side {answer}")


def only(options: Sequence[Option], what: str) -> str:
    if len(options) != 1:
        raise DataError(f"oracle: {len(options)} options fit ({what}); exactly one should")
    return options[0].key
