"""How an item looks on the terminal: a letter and a word for what came of its request, and the summary at the end."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

PROPERTY = "isoprobe"
"""Name of the user property that carries an outcome row as one JSON string."""
WORD = "isoprobe-word"
"""Name of the user property that carries the item's word, so that a report need not be parsed to show its letter."""

LOOKS = {
    # word -> (letter, colour)
    "right": (".", {"green": True}),
    "wrong": ("w", {"yellow": True}),
    "abstained": ("a", {"cyan": True}),
    "usable": (".", {"green": True}),
    "truncated": ("t", {"red": True}),
    "repetition": ("r", {"red": True}),
    "unparsed": ("u", {"red": True}),
    "provider_error": ("e", {"red": True}),
}


def word(row: Mapping[str, Any]) -> str:
    """right, wrong, abstained (an abstention that was not called for), or the status of an unusable reply."""
    if row["status"] != "usable":
        return row["status"]
    if row["correct"]:
        return "right"
    return "abstained" if row["abstained"] else "wrong"


def row_of(report: Any) -> dict[str, Any] | None:
    """The outcome row that a test report carries, or None."""
    for name, value in getattr(report, "user_properties", ()):
        if name == PROPERTY:
            return json.loads(value)
    return None


def of_report(report: Any) -> tuple[str, str, tuple[str, dict]] | None:
    if not report.passed:
        return None
    for name, value in report.user_properties:
        if name == WORD:
            letter, markup = LOOKS.get(value, ("?", {}))
            return value.replace("_", " "), letter, (value.upper().replace("_", " "), markup)
    return None


def summary(counts: Mapping[str, Counter]) -> list[str]:
    """``model: 3,552 requests; 2,101 right (59.1 %), ...`` a line each."""
    lines = []
    for model, count in counts.items():
        n = sum(count.values())
        parts = [f"{count[w]:,} {w.replace('_', ' ')} ({100 * count[w] / n:.1f} %)" for w in (*LOOKS, "lost") if count[w]]
        lines.append(f"{model}: {n:,} requests; " + ", ".join(parts))
    return lines
