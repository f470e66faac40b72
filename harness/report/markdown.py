"""``report.md``: verdicts first, then the tables, then where everything comes from.

When a run was started stands in run.json only, so that the same run made again gives the same report.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tabulate import tabulate

from ..gates import failed
from ..outcome import LOST, Estimate, Table
from .document import Document, data_kind
from .text import LEGEND, LONG, SECRET, instances, markdown, show


def write(document: Document) -> dict[str, bytes]:
    text = "\n\n".join(part for part in _parts(document) if part)
    return {"report.md": (text + "\n").encode()}


def _parts(document: Document) -> Iterator[str]:
    run = document.run
    yield f"# Report of run {markdown(str(run.get('id', '')))}"
    yield _what_was_run(document)
    yield from (f"> {markdown(note, LONG)}" for note in document.notes)
    if document.verdicts:
        yield "## Gates"
        yield _verdicts(document)
    yield "## Results"
    yield _reading(document)
    for table in document.tables:
        yield f"### {markdown(table.title)}"
        yield table_text(table)
        yield markdown(table.note, LONG)
        yield f"*Like {markdown(table.source)}; `tables/{table.name}.csv`.*" if table.source else \
              f"*`tables/{table.name}.csv`.*"
    yield "## Provenance"
    yield from _provenance(document)


def _what_was_run(document: Document) -> str:
    rows = document.rows
    answered = rows.take(rows.attempted)
    lines = [f"{_count(len(answered), 'request')} of {_count(len(answered.distinct('model')), 'model')} "
             f"({', '.join(markdown(m) for m in answered.distinct('model'))}) on:", ""]
    for spec in rows.distinct("spec"):
        about = document.run.get("specs", {}).get(spec, {})
        kind = data_kind(document.run, rows, spec) or "unknown kind of"
        here = rows.where(spec=spec)
        lost = int(here.among("status", LOST).sum())
        lines.append(
            f"- **{markdown(spec)}**{': ' if about.get('title') else ''}{markdown(str(about.get('title') or ''))}; "
            f"**{markdown(kind)} data**, {instances(here.n_instances, here.n_units)}, "
            f"{_count(len(here) - lost, 'request')}"
            + (f", {lost} more lost" if lost else ""))
    if document.simulated:
        lines += ["", "**Simulated data:** the evidence of "
                  f"{', '.join(markdown(s) for s in document.simulated)} was computed, not measured on samples."]
    return "\n".join(lines)


def _reading(document: Document) -> str:
    run, weights = document.run, document.resamples.weights
    marks = {mark for table in document.tables for row in table.rows for cell in row for mark in LEGEND
             if isinstance(cell, Estimate | None) and mark in show(cell)}
    return "\n".join([
        f"Value [95 % interval]: {markdown(document.resamples.kind)} interval from {len(weights):,} resamples of "
        f"instances (of clusters where there are any), seed {document.resamples.seed}; the variants, views and models "
        "of one instance stay together. Intervals are not corrected for multiple comparisons.",
        *(["The replies were recorded by several runs."] if run.get("runs") else []),
        *(markdown(text) for mark, text in LEGEND.items() if mark in marks),
    ])


def _verdicts(document: Document) -> str:
    bad = failed(document.verdicts)
    head = f"**{len(bad)} of {len(document.verdicts)} verdicts count as failed.**" if bad else \
        f"**All {len(document.verdicts)} verdicts count as passed.**"
    lines = [[v.gate.name, v.model, f"{v.result}, allowed" if v.result == "undecided" and v not in bad else v.result,
              v.message] for v in document.verdicts]
    return f"{head}\n\n{_grid(('gate', 'model', 'verdict', 'why'), lines)}"


def table_text(table: Table) -> str:
    """A table as GitHub Markdown."""
    numeric = [all(not isinstance(row[i], str) for row in table.rows) for i in range(len(table.columns))]
    return _grid(table.columns, table.rows, numeric)


def _grid(columns: Sequence[str], rows: Iterable[Sequence[Any]], numeric: Sequence[bool] = ()) -> str:
    sides = ["right" if i < len(numeric) and numeric[i] else "left" for i in range(len(columns))]
    return tabulate([[_cell(cell) for cell in row] for row in rows], [markdown(c) for c in columns], "github",
                    disable_numparse=True, colalign=sides)


def _cell(value: Any) -> str:
    return markdown(value, LONG) if isinstance(value, str) else show(value)


def _provenance(document: Document) -> Iterator[str]:
    run = document.run
    for name, title in (("specs", "Specs and data"), ("models", "Models")):
        for key, value in run.get(name, {}).items():
            yield f"### {title}: {markdown(str(key))}"
            yield _grid(("property", "value"), list(_flat(value))) if value else "No settings were recorded."
    rest = {k: v for k, v in run.items() if k not in ("id", "started", "specs", "models", "notes")}
    yield "### Run"
    yield _grid(("property", "value"), list(_flat(rest)))


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Nested settings as dotted names; what could be a secret is not shown."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            name = f"{path}.{key}" if path else str(key)
            if SECRET.search(str(key)) and not str(key).endswith("_env") and inner:
                yield name, "(not shown)"
            else:
                yield from _flat(inner, name)
    elif isinstance(value, list | tuple) and any(isinstance(v, Mapping | list | tuple) for v in value):
        yield from _flat(dict(enumerate(value)), path)
    elif isinstance(value, list | tuple):
        yield path, ", ".join(str(v) for v in value)
    else:
        yield path, "" if value is None else str(value)


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
