"""Reads a table of spectra back from its text: csv, markdown or JSON, whatever stands around it."""

from __future__ import annotations

import json
import re

import numpy as np

from ..errors import DataError
from .chart import Chart, sampled

AXIS_HEADERS = (
    (r"wavelength[_ ]\(?nm\)?", "nm"),
    (r"wavelength[_ ]\(?[u\u00b5\u03bc]m\)?", "um"),
    (r"photon[_ ]energy[_ ]\(?ev\)?", "eV"),
    (r"wavenumber[_ ]\(?cm(?:\^?-1|\u207b\u00b9)\)?", "cm^-1"),
    (r"frequency[_ ]\(?thz\)?", "THz"),
)
"""First header cell -> unit of the axis."""


def read_table(text: str) -> Chart:
    """The table that ``text`` contains. Raises DataError when there is none or a cell is no number."""
    header, rows = find_table(text)
    unit = axis_unit(header[0])
    if unit is None:
        raise DataError(f"oracle: the first column {header[0]!r} names no known axis and unit")
    cells = np.array([[number(cell) for cell in row] for row in rows], dtype=float)
    if cells.ndim != 2 or cells.shape[1] != len(header):
        raise DataError(f"oracle: the table has {len(header)} columns in its header and others in its rows")
    curves = []
    for j in range(1, len(header)):
        shown = np.isfinite(cells[:, j])
        name = "" if len(header) == 2 else re.split(r"[_ ]", header[j])[-1]
        curves.append(sampled(name, unit, cells[shown, 0], cells[shown, j]))
    return Chart(unit, tuple(curves))


def find_table(text: str) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the first table in ``text``, as strings."""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if line.startswith("{"):
            table = json.JSONDecoder(parse_float=str, parse_int=str).raw_decode("\n".join(lines[i:]))[0]
            return table["columns"], [[cell or "" for cell in row] for row in table["rows"]]
        cells = split_row(line)
        if len(cells) > 1 and axis_unit(cells[0]):
            skip = 2 if line.startswith("|") else 1
            rows = []
            for row in map(split_row, lines[i + skip :]):
                if len(row) != len(cells):
                    break
                rows.append(row)
            return cells, rows
    raise DataError("oracle: the evidence holds no table")


def split_row(line: str) -> list[str]:
    cells = line.strip("|").split("|") if line.startswith("|") else line.split(",")
    return [c.strip() for c in cells]


def axis_unit(cell: str) -> str | None:
    return next((unit for pattern, unit in AXIS_HEADERS if re.fullmatch(pattern, cell, re.IGNORECASE)), None)


def number(cell: str) -> float:
    """A cell as float; an empty cell is NaN."""
    try:
        return float(cell) if cell else float("nan")
    except ValueError:
        raise DataError(f"oracle: the cell {cell!r} of the table is not a number") from None
