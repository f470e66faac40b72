"""How most tables are made: a line for each combination of some columns, an estimate for each cell."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..bootstrap import Resamples
from ..errors import KeyLookupError, near
from ..metrics.metric import load
from ..outcome import Estimate, Table
from ..rows import Rows
from . import TABLES

Builder = Callable[[Rows, Resamples], Table | None]
Lines = list[tuple[tuple[Any, ...], Rows]]
BY_MODEL = ("spec", "template", "model")
"""Models stand side by side as the lines of a spec."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One column of estimates: a metric on the rows of the line that also pass ``where``."""

    metric: str
    where: Mapping[str, Any] = field(default_factory=dict)


def builder(name: str) -> Builder:
    """The builder of a table by name. Raises KeyLookupError for an unknown one."""
    if name not in TABLES:
        raise KeyLookupError(f"{name!r} is not a table{near(name, TABLES)}")
    module, _, attribute = TABLES[name].partition(":")
    found: Builder = getattr(importlib.import_module(f".{module}", __package__), attribute)
    return found


def build(rows: Rows, resamples: Resamples, names: Iterable[str] = TABLES) -> tuple[Table, ...]:
    """The named tables that have data, in the given order."""
    made = (builder(name)(rows, resamples) for name in names)
    return tuple(table for table in made if table is not None)


def lines(rows: Rows, columns: Sequence[str]) -> Lines:
    """The combinations of values that occur, sorted, each with its rows."""
    if not columns:
        return [((), rows)]
    column, *rest = columns
    return [((value, *values), inner) for value, part in rows.split(column) for values, inner in lines(part, rest)]


def grid(rows_by_line: Lines, resamples: Resamples, by: Sequence[str], cells: Mapping[str, Cell],
         **text: str) -> Table | None:
    """A table with the columns ``by``, the cells, and the n of the rows that enter any cell of the line.

    Lines without a single value are left out; without lines there is no table. ``text`` is name, title, note, source.
    """
    made: list[tuple[Any, ...]] = []
    for values, line in rows_by_line:
        estimates, entered = fill(line, resamples, cells.values())
        if any(e.value is not None for e in estimates):
            made.append((*values, *estimates, entered.n_instances, len(entered)))
    if not made:
        return None
    headings = (column.replace("_", " ") for column in by)
    return Table(columns=(*headings, *cells, "instances", "requests"), rows=tuple(made), **text)


def fill(line: Rows, resamples: Resamples, cells: Iterable[Cell]) -> tuple[list[Estimate], Rows]:
    """The estimate of each cell, and the rows that entered any of them."""
    asked = [(load(cell.metric), line.where(cell.where)) for cell in cells]
    estimates = [resamples.estimate(metric, rows) for metric, rows in asked]
    none = line.where(status=())
    return estimates, none.union(*(metric.select(rows) for metric, rows in asked))


def main_tasks(rows: Rows) -> Rows:
    """All but the scope sets, which have tables of their own."""
    return rows.take(~rows.among("task", "scope"))


def core_views(rows: Rows) -> list[str]:
    """The views of core rows, tables before plots, nm before eV."""
    seen = rows.where(core=True).distinct("view")
    known = ["table_nm", "table_um", "table_sci", "table_ev", "plot_nm", "plot_ev"]
    return sorted(seen, key=lambda v: (known.index(v) if v in known else len(known), v))
