"""Numbers as a reader wants them, and untrusted text made harmless. Names and replies of models may hold anything."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from ..outcome import Estimate

NO_DATA = "—"
SMALL_N = 10
"""Below this number of instances, or of clusters of them, a percentile interval is known to be too short."""
SMALL_MARK, FLAT_MARK = "†", "°"
LEGEND = {
    SMALL_MARK: f"{SMALL_MARK} fewer than {SMALL_N} instances, or clusters of them: the interval is too short to trust.",
    FLAT_MARK: f"{FLAT_MARK} no instance differs from another, so the interval has no width; with n instances (clusters of "
               "them, where there are any), up to about 3.7 / n of them could still differ.",
    NO_DATA: f"{NO_DATA} no data, or for an interval: it cannot be had (one instance or cluster, or too few with data).",
}
LONG = 2000
"""Characters of what the report itself says: notes, verdicts. A name ends earlier."""
SECRET = re.compile(r"api_?key|secret|passw|authorization|bearer|credential|token(?!s|iz)", re.IGNORECASE)
"""Names of what may be a secret; max_tokens and tokenizer are none."""
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_MARKDOWN = re.compile(r"([\\`*|\[\]~])")
_CREDENTIALS = re.compile(r"(\w+://)[^/\s@]+@")


def arguments(words: Iterable[Any]) -> list[Any]:
    """Arguments of a command without the values of secret ones, after a blank (``--api-key X``) or ``=``."""
    shown: list[Any] = []
    hide = False
    for word in words:
        flag, given, _ = str(word).partition("=")
        named = flag.startswith("-") and SECRET.search(flag.replace("-", "_")) is not None
        shown.append("(not shown)" if hide else f"{flag}=(not shown)" if named and given else word)
        hide = named and not given
    return shown


def plain(text: str, limit: int = 300) -> str:
    """One line without terminal escapes, control, private-use and direction characters; cut at ``limit``."""
    text = _ESCAPES.sub("", text)
    text = "".join(" " if c in "\n\r\t\v\f\x85\u2028\u2029" else c for c in text
                   if c in "\n\r\t\v\f\x85\u2028\u2029" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co"))
    text = " ".join(_CREDENTIALS.sub(r"\1", text).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def markdown(text: str, limit: int = 300) -> str:
    """``plain`` text in which nothing is markup, neither of Markdown nor of HTML."""
    escaped = _MARKDOWN.sub(r"\\\1", html.escape(plain(text, limit), quote=False))
    return re.sub(r"^(#+|[-+>=]|\d+[.)])(?=\s|$)", r"\\\1", escaped)


def spreadsheet(text: str) -> str:
    """``plain`` text that no spreadsheet takes for a formula."""
    text = plain(text)
    return "'" + text if text[:1] in ("=", "+", "-", "@") else text


def instances(n: int, n_units: int) -> str:
    """How many, and in how many clusters where these are fewer: chance is judged by clusters."""
    clusters = f" in {n_units:,} cluster{'s' if n_units != 1 else ''}" if n_units < n else ""
    return f"{n:,} instance{'s' if n != 1 else ''}{clusters}"


def show(value: Any) -> str:
    """One cell as plain text."""
    if value is None:
        return NO_DATA
    if isinstance(value, Estimate):
        return _estimate(value)
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def _estimate(estimate: Estimate) -> str:
    if estimate.value is None:
        return NO_DATA
    form = {"%": "{:.1f}", "points": "{:+.1f}"}.get(estimate.unit, "{:.3f}")

    def number(value: float) -> str:
        text = form.format(value)
        return text if float(text) else form.format(0.0)  # never -0.0
    if estimate.interval is None:
        return f"{number(estimate.value)} [{NO_DATA}]"
    low, high = estimate.interval
    mark = SMALL_MARK if estimate.n_units < SMALL_N else FLAT_MARK if low == high else ""
    return f"{number(estimate.value)} [{number(low)}, {number(high)}]{mark}"
