"""``tables/*.csv``: one line for each number, with its interval and its n; ``n_units`` counts clusters of instances."""

from __future__ import annotations

import csv
import io
from typing import Any

from ..outcome import Estimate, Table
from .document import Document
from .text import spreadsheet

NUMBERS = ("column", "value", "low", "high", "unit", "n_instances", "n_requests", "n_units")


def write(document: Document) -> dict[str, bytes]:
    return {f"tables/{table.name}.csv": table_csv(table) for table in document.tables}


def table_csv(table: Table) -> bytes:
    """UTF-8. The columns of text come first; every other cell of a line makes a line of its own. No data is empty."""
    texts = [i for i in range(len(table.columns)) if any(isinstance(row[i], str) for row in table.rows)]
    counts = [i for i, name in enumerate(table.columns) if name in ("instances", "requests")]
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*(spreadsheet(table.columns[i]) for i in texts), *NUMBERS])
    for row in table.rows:
        names = [spreadsheet(str(row[i])) for i in texts]
        n = [row[i] for i in counts] if len(counts) == 2 else ["", ""]
        for i, name in enumerate(table.columns):
            if i not in texts and i not in counts:
                writer.writerow([*names, spreadsheet(name), *_numbers(row[i], n)])
    return out.getvalue().encode()


def _numbers(cell: Any, n: list[Any]) -> list[Any]:
    if isinstance(cell, Estimate):
        low, high = cell.interval or (None, None)
        return [_number(cell.value), _number(low), _number(high), cell.unit, cell.n_instances, cell.n_requests,
                cell.n_units]
    return [_number(cell), "", "", "", *n, ""]


def _number(value: float | None) -> str:
    """Six decimals at most: beyond them sums differ between machines."""
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else str(round(value, 6) + 0.0)
