"""``report.html``: one file that needs no network; tables, figures, and an explorer of single requests.

The Content-Security-Policy in the page allows nothing but its own style sheet and script, by hash, and pictures that
stand in it as data. What models and files have said is escaped by the template, or travels as JSON that the script sets
as text.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
import urllib.parse
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from ..gates import failed
from ..intervals import RANGES
from ..outcome import LOST, Estimate, Table, Verdict
from . import explorer, highlights, provenance, svg
from .document import Document, data_kind
from .evidence import NONE, Evidence
from .figures import FIGURES
from .text import LEGEND, LONG, NO_DATA, instances, plain, show

PAGE_BYTES = 29_500_000
"""What a page may weigh; pictures give way."""
_CAPTIONS = {
    "accuracy_by_task": "Filled: tables; open: plots.",
    "compare_by_view": "Value and 95 % interval, %.",
    "compare_by_arm": "Compare task; dotted: chance.",
    "paired_effects": "On the same variants, with 95 % intervals.",
    "agreement": "Tick: where independent errors would put it.",
    "flips": "Value and 95 % interval, %.",
    "wording": "The same evidence, asked about in two wordings.",
    "scope_plane": "Star: the ideal point.",
    "middle_gap_abstention": "Value and 95 % interval, %.",
    "reliability": "ECE: expected calibration error, points.",
    "predicted_and_executed": "On the line, claims and acts agree.",
    "insufficiency": "Tick: precision by chance.",
    "alignment": "Filled: stated; square: executed.",
    "attribution": "Filled: stated; square: executed.",
    "attrition": "Requests by status.",
    "cost_and_accuracy": "Accuracy over all requests, with 95 % intervals.",
}


def page(document: Document, evidence: Evidence = NONE, figures: Mapping[str, bytes] | None = None) -> bytes:
    """The page.

    Args:
        evidence: what the requests showed; without it the explorer shows what outcomes hold.
        figures: ``figures/NAME.svg`` -> bytes, as :func:`harness.report.figures.draw.write` gives them.
    """
    data, hashes = explorer.data(document.rows, evidence)
    island = explorer.island(data)
    values = _values(document, figures or {})
    room = (PAGE_BYTES - len(island) - sum(map(len, (figures or {}).values())) - 2_000_000) * 3 // 4
    pictures = [
        {"type": p.media_type, "exact": p.exact, "data": Markup(explorer.encoded(p))} if p else None
        for p in explorer.pictures(hashes, evidence.images, max(room, 1_000_000))
    ]
    return render("report.html.j2", "report.js", explorer=True, data=Markup(island), pictures=pictures, **values)


def render(template: str, script: str, **values: Any) -> bytes:
    """A page from a template, with the style sheet and script in it and a policy that allows only these."""
    css, js = asset("report.css"), asset(script)
    policy = "; ".join(
        [
            "default-src 'none'",
            f"style-src '{_hash(css)}'",
            f"script-src '{_hash(js)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )
    made = _environment().from_string(asset(template)).render(csp=policy, css=Markup(css), js=Markup(js), **values)
    return made.encode("utf-8", "replace")


@cache
def asset(name: str) -> str:
    return files("harness.report").joinpath("templates", name).read_text("utf-8")


@cache
def _environment() -> Environment:
    return Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


# -- what the template shows --------------------------------------------------------------------------------------


def _values(document: Document, figures: Mapping[str, bytes]) -> dict[str, Any]:
    rows, bad = document.rows, failed(document.verdicts)
    marks = {
        m
        for t in document.tables
        for row in t.rows
        for c in row
        for m in LEGEND
        if isinstance(c, Estimate | None) and m in show(c)
    }
    return {
        "title": plain(str(document.run.get("id", ""))),
        "asked": f"{int(rows.attempted.sum()):,} request{'' if rows.attempted.sum() == 1 else 's'}",
        "models": [plain(m) for m in rows.distinct("model")],
        "specs": list(_specs(document)),
        "simulated": [plain(s) for s in document.simulated],
        "notes": [plain(n, LONG) for n in document.notes],
        "verdicts": document.verdicts,
        "bad": bad,
        "held": [v for v in document.verdicts if v not in bad],
        "gates": _gates,
        "failed_gates": [
            f"{plain(name)} ({n})" for name, n in Counter(v.gate.name.split(" [")[0] for v in bad).most_common(5)
        ],
        "numbers": list(_numbers(document)),
        "failures": list(_failures(document)),
        "reading": f"Value [95 % interval]: {document.resamples.kind} interval from "
        f"{len(document.resamples.weights):,} resamples of instances, seed {document.resamples.seed}; "
        "all views, variants and models of an instance stay together.",
        "legend": [text for mark, text in LEGEND.items() if mark in marks],
        "tables": [_table(t, figures) for t in document.tables],
        "provenance": provenance.sections(document.run),
    }


def _specs(document: Document) -> Iterator[dict[str, str]]:
    for spec in document.rows.distinct("spec"):
        about = document.run.get("specs", {}).get(spec, {})
        dataset = about.get("dataset") or {}
        here = document.rows.where(spec=spec)
        lost = int(here.among("status", LOST).sum())
        yield {
            "name": plain(spec),
            "title": plain(str(about.get("title") or "")),
            "kind": plain(data_kind(document.run, document.rows, spec)),
            "counts": f"{instances(here.n_instances, here.n_units)}, {len(here) - lost:,} requests"
            + (f", {lost:,} lost" if lost else ""),
            "dataset": plain(", ".join(str(dataset[k]) for k in ("name", "licence") if dataset.get(k))),
        }


def _gates(verdicts: list[Verdict], title: str) -> Markup:
    """A table of verdicts."""
    source = """<div class="scroll tall" role="region" aria-label="{{ title }}" tabindex="0">
<table class="sortable stack"><thead><tr><th scope="col">gate</th><th scope="col">model</th><th scope="col">verdict</th>
<th scope="col">why</th></tr></thead><tbody>
{% for v in verdicts %}<tr><td>{{ v.gate.name }}</td><td>{{ v.model }}</td>
<td><span class="badge {{ v.result }}">{{ v.result }}</span></td><td data-label="why">{{ v.message }}</td></tr>
{% endfor %}</tbody></table></div>"""
    return Markup(_environment().from_string(source).render(verdicts=verdicts, title=title))


def _numbers(document: Document) -> Iterator[dict[str, Any]]:
    for spec, models in highlights.numbers(document):
        yield {
            "name": plain(spec),
            "kind": plain(data_kind(document.run, document.rows, spec)),
            "labels": [f"{n.label}, {n.estimate.unit}" for n in models[0][1]],
            "models": [
                {
                    "name": plain(model),
                    "cells": [
                        {**cell(n.estimate), "label": f"{n.label}, {n.estimate.unit}", "bar": _bar(n)} for n in found
                    ],
                }
                for model, found in models
            ],
        }


def _bar(number: highlights.Number) -> dict[str, float | None] | None:
    """Positions on a rail from 0 to 100."""
    estimate = number.estimate
    if estimate.value is None or estimate.unit not in RANGES:
        return None
    low, high = RANGES[estimate.unit]

    def at(value: float | None) -> float | None:
        return None if value is None else round(100 * (value - low) / (high - low), 2)

    ends = estimate.interval or (None, None)
    return {"at": at(estimate.value), "low": at(ends[0]), "high": at(ends[1]), "ideal": at(number.ideal)}


def _failures(document: Document) -> Iterator[dict[str, str]]:
    for f in highlights.failures(document):
        query = {**f.where, "answer": "not-right"}
        said = ", ".join(plain(v) if k != "wording" else f"{v} words" for k, v in f.where.items())
        unreadable = f", {f.unreadable} not readable" if f.unreadable else ""
        yield {
            "share": f"{f.share:.0f}",
            "text": said,
            "counts": f"{f.wrong} wrong{unreadable} of {f.requests} requests",
            "link": f"#/explore?{urllib.parse.urlencode(query)}",
        }


def _table(table: Table, figures: Mapping[str, bytes]) -> dict[str, Any]:
    numeric = [all(not isinstance(row[i], str) for row in table.rows) for i in range(len(table.columns))]
    drawn = []
    for name, (_, source) in FIGURES.items():
        data = figures.get(f"figures/{name}.svg")
        if source == table.name and data:
            drawn.append(
                {
                    "name": name,
                    "caption": _CAPTIONS.get(name, ""),
                    "svg": Markup(
                        svg.inline(data, f"f-{name}", f"{plain(table.title)}; the table below has the numbers")
                    ),
                }
            )
    return {
        "name": re.sub(r"\W", "_", table.name),
        "title": plain(table.title),
        "note": plain(table.note, LONG),
        "source": plain(table.source),
        "figures": drawn,
        "columns": [{"text": plain(c), "number": n} for c, n in zip(table.columns, numeric, strict=True)],
        "rows": [[{**cell(c), "number": n} for c, n in zip(row, numeric, strict=True)] for row in table.rows],
    }


def cell(value: Any) -> dict[str, str]:
    """``text`` and ``ends`` (the interval) to show, ``sort`` to sort by."""
    text = plain(show(value))
    number = value.value if isinstance(value, Estimate) else value
    sort = "" if not isinstance(number, int | float) or not math.isfinite(number) else f"{number:.6g}"
    head, bracket, ends = text.partition(" [") if isinstance(value, Estimate) else (text, "", "")
    return {"text": head, "ends": f"[{ends}" if bracket else "", "sort": sort if text != NO_DATA else ""}
