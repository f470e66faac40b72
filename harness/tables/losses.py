"""Usable rows, where rows go, and how the unparsed were miswritten (modality paper, tables 14 and 15)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..bootstrap import Resamples
from ..outcome import STATUSES, Outcome, Table
from ..rows import Rows
from .suite import cells, estimates, table

DETECTOR = "loop detector"
"""Said by the provider of servers that stop a loop. Elsewhere loops end as truncations: the entry is n/a, not 0."""


def usable_rows(rows: Rows, resamples: Resamples) -> Table | None:
    made = [(spec, template, view, model, *estimates(part, resamples, ("usable_share",)), len(part))
            for (spec, template, view, model), part in cells(rows, "spec", "template", "view", "model")]
    return table(
        "usable_rows",
        "Usable rows, % of rows attempted",
        ("spec", "template", "view", "model", "usable", "attempted"),
        made,
        "A usable row finished and every field that the prompt asked for parsed. A shared generation counts once.",
        "modality paper, table 14",
    )


def row_losses(rows: Rows, resamples: Resamples) -> Table | None:
    made: list[tuple[Any, ...]] = []
    for (spec, template, model), part in cells(rows, "spec", "template", "model"):
        outcomes, n = part.outcomes, len(part)
        where = Counter(fate(o) for o in outcomes)
        complete = n - sum(where[s] for s in STATUSES[:3])
        lost = where["unparsed answer"] + where["unparsed self-report"]
        looped: Any = 100 * where["repetition"] / n
        if not where["repetition"] and not any(detects_loops(o) for o in outcomes):
            looped = "n/a"
        made.append((spec, template, model, 100 * where["truncated"] / n, 100 * where["provider_error"] / n, looped,
                     100 * where["unparsed answer"] / n, 100 * where["unparsed self-report"] / n,
                     *estimates(part, resamples, ("usable_share",)), 100 * lost / complete if complete else None, n))
    return table(
        "row_losses",
        "Where the rows go, % of rows attempted",
        (
            "spec",
            "template",
            "model",
            "truncated",
            "error",
            "repetition",
            "unparsed answer",
            "unparsed self-report",
            "usable",
            "parse failures, % of completed",
            "attempted",
        ),
        made,
        "Assigned in the order repetition, truncated, error, unparsed, usable; the six shares sum to 100. Unparsed "
        "self-report: the answer parsed, another field did not. Repetition: n/a where the server has no loop detector.",
        "modality paper, table 15",
    )


def fate(o: Outcome) -> str:
    """The status, with unparsed rows told apart by whether the answer itself parsed."""
    if o.status != "unparsed":
        return o.status
    return "unparsed answer" if "answer" in o.missing or not o.missing else "unparsed self-report"


def detects_loops(o: Outcome) -> bool:
    """Whether the server behind an outcome reports loops."""
    return o.finish_reason == "repetition" or DETECTOR in o.provider


def near_misses(rows: Rows, resamples: Resamples) -> Table | None:
    made: list[tuple[Any, ...]] = []
    for (spec, template, model), part in cells(rows, "spec", "template", "model"):
        kinds: Counter[tuple[str, str]] = Counter()
        for o in part.outcomes:
            if o.status == "unparsed":
                by_field = o.notes.get("near_miss_by_field", {})
                kinds.update((field, by_field.get(field, "absent")) for field in o.missing)
        made += [(spec, template, model, field, kind, count, 100 * count / len(part))
                 for (field, kind), count in sorted(kinds.items(), key=lambda k: (-k[1], k[0]))]
    return table(
        "near_misses",
        "How unparsed fields were written",
        ("spec", "template", "model", "field", "kind", "rows", "% of attempted"),
        made,
        "The field is named by what it is about. Absent: nothing like it stands in the reply. The kinds are told in "
        "harness/readouts/labelled_lines.py.",
        "modality paper, appendix D",
    )
