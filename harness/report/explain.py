"""How an expected answer follows from the evidence, in words and numbers, for the reader of a report.

It reads the table that was shown, as a person would; it shares no code with the labels, and it decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..outcome import Outcome
from ..probe import ABSTAIN
from ..spectrum import AXIS_UNITS

_LOWEST = re.compile(r"\b(dips?|lowest|deepest|minimum|smallest|least)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Series:
    """The numbers of a table: ``nm`` ascending, and one list of values for each named column."""

    nm: tuple[float, ...]
    names: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    quantity: str

    def extremum(self, column: int, lowest: bool, span: Sequence[float] | None = None) -> tuple[float, float] | None:
        """(nm, value) of the lowest or highest sample, within a span where one is given."""
        inside = [
            (v, x)
            for x, v in zip(self.nm, self.values[column], strict=True)
            if span is None or span[0] - 1e-6 <= x <= span[1] + 1e-6
        ]
        if not inside:
            return None
        value, at = min(inside) if lowest else max(inside)
        return at, value


def series(text: str, unit: str) -> Series | None:
    """The table inside a piece of evidence; None where there is none. ``unit`` is that of its axis."""
    if unit not in AXIS_UNITS:
        return None
    header: list[str] = []
    rows: list[list[float]] = []
    for line in text.splitlines():
        cells = [c.strip() for c in line.split(",")]
        try:
            numbers = [float(c) for c in cells]
        except ValueError:
            if not rows and len(cells) > 1 and all(re.fullmatch(r"[\w^.-]+", c) for c in cells):
                header = cells
            continue
        if header and len(numbers) == len(header):
            rows.append(numbers)
    if len(rows) < 3:
        return None
    axis = AXIS_UNITS[unit]  # energies, wave numbers and frequencies are c / nm, which is its own inverse
    rows = sorted(
        [float(axis.from_nm(r[0])) if axis.descending else r[0] / float(axis.from_nm(1.0)), *r[1:]] for r in rows
    )
    columns = list(zip(*rows, strict=True))
    named = [re.fullmatch(r"(.*?)_?([A-Z])?", h) for h in header[1:]]
    return Series(
        tuple(round(x, 3) for x in columns[0]),
        tuple(m[2] or "" if m else "" for m in named),
        tuple(tuple(c) for c in columns[1:]),
        (named[0][1] if named[0] else "").replace("_", " ") or "response",
    )


def looks_for_lowest(o: Outcome, question: str) -> bool:
    """Whether the question is about the lowest sample; else about the highest."""
    return o.direction == "minimum" if o.direction in ("minimum", "maximum") else bool(_LOWEST.search(question))


def derivation(o: Outcome, question: str, shown: Series | None) -> str:
    """Why the expected answer is the right one."""
    facts = o.facts
    if facts.get("arm"):
        return _paired(o)
    lowest = looks_for_lowest(o, question)
    what = "lowest" if lowest else "highest"
    span, removed = facts.get("span_nm"), facts.get("remove_nm")
    within = f" between {_nm(span)}" if span else ""
    answer = f"the answer is “{'cannot be determined' if o.expected == ABSTAIN else o.expected}”"
    if shown is None:
        told = (
            f"The samples {_nm(removed)} were removed, and with them the {what} point{within}"
            if removed and o.expected == ABSTAIN
            else f"The {what} point{within} was found in the complete data"
        )
        return f"{told}; {answer}."
    points = {name: shown.extremum(i, lowest, span) for i, name in enumerate(shown.names)}
    said = [f"{f'{name}: ' if name else ''}{at[1]:.4g} at {at[0]:.4g} nm" for name, at in points.items() if at]
    text = f"The {what} {shown.quantity}{within} is {', '.join(said)}"
    if removed and o.expected == ABSTAIN:
        return (
            f"In the complete data, {text[0].lower()}{text[1:]}. The samples {_nm(removed)} were removed, "
            f"and with them that point: what is left does not say where it was, so {answer}."
        )
    if facts.get("keep_nm"):
        return (
            f"{text}. Only samples outside {_nm(facts['keep_nm'])} were removed, "
            f"which the question does not ask about: {answer}."
        )
    if facts.get("window_nm"):
        return f"{text}. The specification asks for the window {_nm(facts['window_nm'])}: {answer}."
    if o.direction in ("longer", "shorter"):
        energy = {"longer": "lower", "shorter": "higher"}[o.direction]
        asked = (
            f"{o.direction} wavelength"
            if o.wording != "energy"
            else f"{energy} photon energy, which is the {o.direction} wavelength"
        )
        return f"{text}. The question asks for the {asked}: {answer}."
    return f"{text}: {answer}."


def _paired(o: Outcome) -> str:
    facts: Mapping[str, Any] = o.facts
    parts = []
    answers = facts.get("answers")
    if isinstance(answers, Mapping):
        supports = ", ".join(f"{_arm(k)}: {v}" for k, v in answers.items())
        parts.append(f"Known by construction, what each set of inputs supports - {supports}.")
    parts.append(f"Expected with both inputs: {o.expected}.")
    arm = str(facts.get("arm"))
    if arm != "both":
        settled = facts.get("sufficient")
        if isinstance(settled, Mapping) and arm in settled:
            parts.append(f"The {arm} alone {'settles' if settled[arm] else 'does not settle'} it.")
    if facts.get("golden"):
        parts.append(f"The annotated evidence is in: {facts['golden']}.")
    return " ".join(parts)


def _arm(name: object) -> str:
    return "both" if name == "both" else f"{name} alone"


def _nm(span: Sequence[float] | None) -> str:
    return f"{span[0]:g}–{span[1]:g} nm" if span else ""
