"""Questions and options as sentences -> what is asked. All wording that the oracle understands is in the tables here.

To teach it a new wording, add or widen a pattern; nothing else depends on the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import DataError
from ..probe import Option
from .chart import TO_NM

NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
UNIT = r"nm|[u\u00b5\u03bc]m|eV|cm\^?-1|cm\u207b\u00b9|THz"
RANGE = rf"(?P<low>{NUMBER}) ?[-\u2013] ?(?P<high>{NUMBER}) ?(?P<unit>{UNIT})(?!\w)"
VALUE = rf"(?P<value>{NUMBER}) ?(?P<unit>{UNIT})(?!\w)"

SHAPES = (
    ("specification", r"\blies within\b.*\bfalls (?P<side>below|above)\b"),
    ("compare", r"^which spectrum has\b"),
    ("threshold", r"\bat a (?:shorter|longer|lower|higher)\b.* or at a (?:shorter|longer|lower|higher)\b.* than\b"),
    ("extreme", r"\bchoose the range that contains it\b"),
)
"""What kind of decision a question asks for, first match; case does not matter."""
EXTREMA = (
    ("minimum", r"\blowest\b|\bdip\b|\bminimum\b"),
    ("maximum", r"\bhighest\b|\bpeak\b|\bmaximum\b"),
)
"""Which extremum it asks about, first match."""
SPANS = (r"\bconsidering (?:only|the full) (?:the )?range " + RANGE, r"\bwithin the (?:full )?range " + RANGE)
"""Where the question states the interval it is about."""
ABSTAINING = r"cannot be determined|undetermined"
"""Label of the option to abstain with."""
DIRECTIONS = (
    ("longer", r"\blonger wavelength\b|\blower (?:photon energy|energy|wavenumber|frequency)\b"),
    ("shorter", r"\bshorter wavelength\b|\bhigher (?:photon energy|energy|wavenumber|frequency)\b"),
)
"""Side on the wavelength axis, whatever quantity names it."""
NAMED = r"\bspectrum (?P<name>[A-Z])\b"
"""The spectrum an option stands for."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question understood; wavelengths in nm.

    Attributes:
        shape: ``extreme``, ``compare``, ``threshold`` or ``specification``.
        extremum: ``minimum`` or ``maximum``.
        span: the interval that the question is about, or None: all that is shown.
        direction: ``longer`` or ``shorter`` (compare).
        threshold: of a threshold question.
        window: of a specification, with ``bound``, and ``below``: whether the response must be below it.
    """

    shape: str
    extremum: str
    span: tuple[float, float] | None = None
    direction: str = ""
    threshold: float = float("nan")
    window: tuple[float, float] = (float("nan"), float("nan"))
    bound: float = float("nan")
    below: bool = True


def understand(question: str) -> Asked:
    """Raises DataError when no pattern fits."""
    shape, match = named(SHAPES, question, "kind of question")
    extremum, _ = named(EXTREMA, question, "extremum")
    span = next((interval(m) for m in (find(p, question) for p in SPANS) if m), None)
    if shape == "compare":
        return Asked(shape, extremum, span, direction=named(DIRECTIONS, question, "direction")[0])
    if shape == "threshold":
        # the last value: a stated range comes before it
        values = list(re.finditer(VALUE, question))
        if not values:
            raise DataError(f"oracle: no threshold with a unit in {question!r}")
        return Asked(shape, extremum, span, threshold=nm(values[-1]["value"], values[-1]["unit"]))
    if shape == "specification":
        window = find(r"\blies within " + RANGE, question)
        bound = find(rf"\bfalls \w+ a \w+ of (?P<bound>{NUMBER})", question)
        if not window or not bound:
            raise DataError(f"oracle: no window or no bound of the response in {question!r}")
        return Asked(
            shape,
            extremum,
            span,
            window=interval(window),
            bound=float(bound["bound"]),
            below=match["side"].lower() == "below",
        )
    return Asked(shape, extremum, span)


def abstention(options: Iterable[Option]) -> str | None:
    """Key of the option to abstain with, if there is one."""
    return next((o.key for o in options if find(ABSTAINING, o.label) or find(ABSTAINING, o.description)), None)


def band(option: Option) -> tuple[float, float]:
    """The range of wavelengths that an option names. Raises DataError."""
    match = find(RANGE, option.description) or find(RANGE, option.label)  # where both speak, the description decides
    if not match:
        raise DataError(f"oracle: the option {option.label!r} names no range")
    return interval(match)


def side(option: Option) -> str:
    """``longer`` or ``shorter``. Raises DataError."""
    return named(DIRECTIONS, option.description or option.label, "side")[0]


def spectrum(option: Option) -> str:
    """The letter of the spectrum that an option stands for. Raises DataError."""
    for text in (option.description, option.label):
        if match := find(NAMED, text):
            return match["name"]
    if len(option.label) == 1:
        return option.label
    raise DataError(f"oracle: the option {option.label!r} names no spectrum")


def find(pattern: str, text: str) -> re.Match[str] | None:
    return re.search(pattern, text, re.IGNORECASE | re.DOTALL)


def named(table: tuple[tuple[str, str], ...], text: str, what: str) -> tuple[str, re.Match[str]]:
    """First entry of ``table`` whose pattern occurs in ``text``. Raises DataError."""
    for name, pattern in table:
        if match := find(pattern, text):
            return name, match
    raise DataError(f"oracle: no known {what} in {text!r}; harness/oracle/question.py has the wordings that it reads")


def interval(match: re.Match[str]) -> tuple[float, float]:
    """A matched range as (low, high) in nm."""
    ends = sorted((nm(match["low"], match["unit"]), nm(match["high"], match["unit"])))
    return ends[0], ends[1]


def nm(value: str, unit: str) -> float:
    """A value with its unit as a wavelength in nm."""
    known = {"nm": "nm", "um": "um", "\u00b5m": "um", "\u03bcm": "um", "ev": "eV", "thz": "THz"}
    return float(TO_NM[known.get(unit.lower(), "cm^-1")](float(value)))
