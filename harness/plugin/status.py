"""How an item looks on the terminal: a letter and a word for what came of its request, and the summary at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..outcome import Outcome

PROPERTY = "isoprobe"
"""Name of the user property that carries an outcome row as one JSON string."""
BRIEF = "isoprobe-brief"
"""Name of the user property with what the terminal shows of a row: [word, tries, tokens, dollars], the last two of this
run alone. The controller passes rows on to the file without parsing them."""
EMPTY: dict[str, Any] = {}

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


def word(outcome: Outcome) -> str:
    """right, wrong, abstained (an abstention that was not called for), or the status of an unusable reply."""
    if outcome.status != "usable":
        return outcome.status
    if outcome.correct:
        return "right"
    return "abstained" if outcome.abstained else "wrong"


def brief(outcome: Outcome) -> list[Any]:
    fresh = not outcome.notes.get("from_store")
    tokens = (outcome.tokens_in or 0) + (outcome.tokens_out or 0)
    return [word(outcome), outcome.tries or 0, tokens if fresh else 0, (outcome.cost_usd or 0.0) if fresh else 0.0]


def carried(report: Any) -> tuple[str, list[Any]] | None:
    """The outcome row (JSON) and the brief that a test report carries, or None."""
    found = dict(getattr(report, "user_properties", ()))
    return (found[PROPERTY], found[BRIEF]) if PROPERTY in found else None


def lighten(report: Any) -> None:
    """Takes off a report that every plugin has seen what nothing shows later: pytest keeps all reports to the end, three
    an item, with the row in two of them and the names of the item's keywords in each."""
    if report.passed:
        report.keywords = EMPTY
        report.user_properties = [p for p in report.user_properties if p[0] == BRIEF] if report.when == "call" else []


def of_report(report: Any) -> tuple[str, str, tuple[str, dict]] | None:
    if not report.passed:
        return None
    found = carried(report)
    if found is None:
        return None
    name = found[1][0]
    letter, markup = LOOKS.get(name, ("?", {}))
    return name.replace("_", " "), letter, (name.upper().replace("_", " "), markup)


def summary(counts: Mapping[str, Counter]) -> list[str]:
    """``model: 3,552 requests; 2,101 right (59.1 %), ...`` a line each."""
    lines = []
    for model, count in counts.items():
        n = sum(count.values())
        parts = [f"{count[w]:,} {w.replace('_', ' ')} ({100 * count[w] / n:.1f} %)" for w in (*LOOKS, "lost") if count[w]]
        lines.append(f"{model}: {n:,} requests; " + ", ".join(parts))
    return lines
