"""A comparison as Markdown, as a page, and as CSV."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tabulate import tabulate

from ..metrics import METRICS
from ..metrics.metric import load
from ..outcome import number
from ..report.decisions import FLAT
from ..report.html import cell, render
from ..report.text import instances, markdown, plain, show, spreadsheet
from .paired import Comparison, Difference, Flip

SHOWN = 40
"""Flips that the Markdown lists; the page lists PAGE_FLIPS, the CSV all."""
PAGE_FLIPS = 2000
SIGNS = {True: "▲ nearer to ideal", False: "▼ farther from ideal"}


def mark(d: Difference) -> str:
    """What a reader may conclude from a difference."""
    if d.significant:
        return SIGNS[bool(d.nearer)]
    if d.adjusted_p is None:
        return ""
    # values on both sides of the ideal may differ and be equally far from it
    across = abs(abs(d.change.value or 0.0) - abs(d.distance or 0.0)) > FLAT
    return "not shown to be nearer or farther" if across else "no difference shown"


def shown_p(p: float | None) -> str:
    return "" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def shown_detectable(d: Difference) -> str:
    return "" if d.detectable is None else number(d.detectable, d.change.unit)


def text(found: Sequence[Comparison], title: str) -> str:
    """The whole comparison as GitHub Markdown."""
    parts = [f"# {markdown(title)}"]
    for c in found:
        parts += _one(c)
    return "\n\n".join(p for p in parts if p) + "\n"


def _one(c: Comparison) -> list[str]:
    reference, *others = c.arms
    parts = [f"## {markdown(' and '.join(a.label for a in others))} against {markdown(reference.label)}", _about(c)]
    parts += [f"> {markdown(n)}" for n in c.notes]
    worse = [d for d in c.summary if d.worse]
    better = [d for d in c.summary if d.significant and d.nearer]
    parts.append(f"**{len(worse)} metrics farther from their ideal, {len(better)} nearer, beyond chance.**")
    for where in dict.fromkeys(d.where for d in c.summary):
        parts += [f"### {markdown(where)}", differences([d for d in c.summary if d.where == where])]
    changed = [d for d in c.details if d.significant]
    if changed:
        parts += ["### Where it changed", differences(changed, where=True)]
    parts += ["### Flips", _flip_counts(c)]
    listed = [f for f in c.flips if f.kind != "otherwise"][:SHOWN]
    if listed:
        parts.append(
            tabulate(
                [
                    [
                        markdown(f.arm),
                        f.kind,
                        markdown("/".join(f.where)),
                        markdown(f.expected),
                        markdown(f.reference),
                        markdown(f.other),
                    ]
                    for f in listed
                ],
                ["arm", "", "request", "expected", markdown(reference.label), "then"],
                "github",
                disable_numparse=True,
            )
        )
        if len(c.flips) > len(listed):
            parts.append(f"{len(c.flips) - len(listed)} more are in `flips.csv`.")
    return parts


def _about(c: Comparison) -> str:
    left = ", ".join(f"{a.left_out:,} of {a.label}" for a in c.arms if a.left_out)
    counts = [len(a.outcomes) for a in c.arms]
    asked = f"{c.n_requests:,} shared requests"
    if len(set(counts)) > 1:  # matched by instance, and some arms were asked in more templates than others
        asked = ", ".join(
            f"{n:,}{'' if i else ' requests'} of {markdown(a.label)}"
            for i, (n, a) in enumerate(zip(counts, c.arms, strict=True))
        )
        asked += ", all"
    return (
        f"{asked} of {instances(c.n_instances, c.n_units)}; differences are paired and clustered by "
        f"instance, 95 % percentile intervals from {c.resamples:,} resamples, seed {c.seed}; p-values are two-sided, of "
        "the change of the distance from the ideal, and Holm-adjusted over the table. Detectable: the least difference "
        "that this n finds with 80 % power."
        + (f" Left out, as not every arm has a reply to them: {markdown(left)}." if left else "")
        + _selection(c)
    )


def _selection(c: Comparison) -> str:
    """Where a metric of this table is over other requests than where a report shows it, that this is so."""
    names = [d.metric for d in c.summary if METRICS.get(d.metric, "").startswith("confidence:")]
    if not names or len({o.core for o in c.arms[0].outcomes}) < 2:
        return ""
    return (
        f" {', '.join(dict.fromkeys(names))}: over all shared requests here, over those of core variants in the tables of a "
        f"report."
    )


def differences(found: Sequence[Difference], where: bool = False) -> str:
    """A table of differences; several arms stand side by side as lines of one metric."""
    lines = [
        [
            *([markdown(d.where)] if where else []),
            d.metric,
            markdown(d.arm),
            show(d.reference),
            show(d.other),
            show(d.change),
            shown_p(d.adjusted_p),
            shown_detectable(d),
            mark(d),
        ]
        for d in found
    ]
    head = [
        *(["where"] if where else []),
        "metric",
        "arm",
        "reference",
        "value",
        "difference",
        "adjusted p",
        "detectable",
        "",
    ]
    return tabulate(lines, head, "github", disable_numparse=True)


def _flip_counts(c: Comparison) -> str:
    counts: dict[tuple[str, str, str, str], Counter[str]] = {}
    for f in c.flips:
        counts.setdefault((f.arm, f.where[0], f.where[1], f.where[4]), Counter())[f.kind] += 1
    if not counts:
        return "No decision differs."
    total = Counter(f.kind for f in c.flips)
    lines = [[*map(markdown, names), n["broken"], n["repaired"], n["otherwise"]] for names, n in sorted(counts.items())]
    return (
        f"{len(c.flips):,} decisions differ: {total['broken']:,} right ones broken, "
        f"{total['repaired']:,} wrong ones repaired, "
        f"{total['otherwise']:,} otherwise.\n\n"
        + tabulate(lines, ["arm", "spec", "task", "view", "broken", "repaired", "otherwise"], "github")
    )


def flips_csv(found: Sequence[Comparison]) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        [
            "reference",
            "arm",
            "kind",
            "spec",
            "task",
            "instance",
            "variant",
            "view",
            "template",
            "repeat",
            "expected",
            "reference decision",
            "decision",
        ]
    )
    for c in found:
        for f in c.flips:
            writer.writerow(
                [spreadsheet(x) for x in (c.arms[0].label, f.arm, f.kind, *f.where, f.expected, f.reference, f.other)]
            )
    return out.getvalue().encode()


def page(found: Sequence[Comparison], title: str, folder: Path) -> bytes:
    """The comparison as one page, with links into the reports of the runs, as seen from ``folder``."""
    return render("compare.html.j2", "report.js", title=plain(title), comparisons=[_values(c, folder) for c in found])


def _values(c: Comparison, folder: Path) -> dict[str, Any]:
    reference, *others = c.arms
    links = {a.label: _report(a.folder, folder) for a in c.arms if a.folder}
    total = Counter(f.kind for f in c.flips)
    return {
        "title": plain(f"{' and '.join(a.label for a in others)} against {reference.label}"),
        "about": plain(_about(c), 2000),
        "notes": [plain(n) for n in c.notes],
        "reference": plain(reference.label),
        "worse": sum(d.worse for d in c.summary),
        "better": sum(d.significant and bool(d.nearer) for d in c.summary),
        "tables": [
            {"where": plain(where), "rows": [_line(d) for d in c.summary if d.where == where]}
            for where in dict.fromkeys(d.where for d in c.summary)
        ],
        "details": [_line(d) for d in c.details],
        "counts": f"{len(c.flips):,} decisions differ: {total['broken']:,} right ones broken, "
        f"{total['repaired']:,} wrong ones "
        f"repaired, {total['otherwise']:,} otherwise",
        "flips": [_flip(f, c, links) for f in c.flips[:PAGE_FLIPS]],
        "more_flips": max(0, len(c.flips) - PAGE_FLIPS),
    }


def _line(d: Difference) -> dict[str, Any]:
    low = d.change.interval or (None, None)
    return {
        "metric": d.metric,
        "about": plain(load(d.metric).description.split("\n")[0]),
        "where": plain(d.where),
        "arm": plain(d.arm),
        "reference": cell(d.reference),
        "other": cell(d.other),
        "change": cell(d.change),
        "p": {**cell(d.adjusted_p), "text": shown_p(d.adjusted_p)},
        "detectable": {**cell(d.detectable), "text": shown_detectable(d)},
        "mark": mark(d),
        "kind": "bad" if d.worse else "good" if d.significant and d.nearer else "",
        "bar": None
        if d.change.value is None
        else {
            "at": _rail(d.change.value, d.change.unit),
            "low": None if low[0] is None else _rail(low[0], d.change.unit),
            "high": None if low[1] is None else _rail(low[1], d.change.unit),
        },
    }


def _rail(change: float, unit: str) -> float:
    """Where on a rail of 100 a change stands, 50 being none; its ends are 100 points, or 2 of a score."""
    return round(min(max(50 + change * (25 if unit == "score" else 0.5), 0), 100), 2)


def _flip(f: Flip, c: Comparison, links: dict[str, str]) -> dict[str, Any]:
    arms = {a.label: a for a in c.arms}

    def link(label: str) -> str:
        return f"{links[label]}#/r/{quote('/'.join(f.where))}/{quote(arms[label].model)}" if links.get(label) else ""

    return {
        "kind": f.kind,
        "arm": plain(f.arm),
        "request": plain("/".join(f.where)),
        "expected": plain(f.expected),
        "reference": plain(f.reference),
        "other": plain(f.other),
        "then": link(f.arm),
        "was": link(c.arms[0].label),
    }


def _report(folder: Path | None, start: Path) -> str:
    if folder is None or not (folder / "report.html").is_file():
        return ""
    return quote(Path(os.path.relpath(folder / "report.html", start)).as_posix())
