"""Any table of spectra - a plate export, a spreadsheet, a CSV file - as a SpectraSet, without Python.

    dataset: {table: plate.xlsx, quantity: absorbance, unit: nm, blank: A1}

Wavelengths stand in the first column (one spectrum a column, as plate readers write) or in the first row (one spectrum
a row); which of the two is found out unless ``wavelengths`` says so. Nothing is repaired: what is wrong is one
DataError with file, cell, value and remedy.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError, near
from ..spectrum import SpectraSet, Spectrum
from .axis import to_nm
from .cells import Sheet, read_sheet

LAYOUTS = ("first_column", "first_row")


def load(declaration: Mapping[str, Any], base: Path) -> SpectraSet:
    """The table at ``base / declaration['table']``.

    The keys of ``declaration`` are those of specs/schema/dataset.schema.json.

    Raises:
        DataError: anything in the file or the declaration that does not fit.
    """
    path = base / Path(declaration["table"]).expanduser()
    quantity = declaration.get("quantity", "absorbance")
    sheet = read_sheet(path, declaration.get("sheet"), declaration.get("skip_rows", 0))
    across = layout(sheet, declaration.get("wavelengths")) == "first_row"
    lines = list(zip(*sheet.rows, strict=True)) if not across else list(sheet.rows)  # each: head, then values

    def place(line: int, sample: int) -> str:
        return sheet.place(line, sample) if across else sheet.place(sample, line)

    heads = names(sheet, lines, place)
    chosen = declaration.get("columns")
    blank = declaration.get("blank")
    for wanted in (*(chosen or ()), *(() if blank in (None, "minimum") else (blank,))):
        if wanted not in heads:
            raise DataError(f"{path}: no spectrum {wanted!r}{near(wanted, list(heads)[:40])}")
    axis = np.array([number(v, place(0, i)) for i, v in enumerate(lines[0][1:], start=1)])
    wavelength, order = to_nm(axis, declaration.get("unit", "nm"), lambda i: place(0, i + 1), path)

    responses = {head: np.array([number(v, place(at, i)) for i, v in enumerate(lines[at][1:], start=1)])[order]
                 for head, at in heads.items() if not chosen or head in chosen or head == blank}
    responses = subtract(responses, blank)
    if declaration.get("percent", False):
        responses = {head: values / 100 for head, values in responses.items()}
    for head, values in responses.items():
        if quantity == "transmission" and values.max() > 1.5:
            worst = place(heads[head], int(order[values.argmax()]) + 1)
            raise DataError(f"{worst}: transmission {values.max():g} is more than 1; "
                            "if the table is in percent declare percent: true")
    polarization = declaration.get("polarization", "")
    return SpectraSet(
        name=declaration.get("name", path.stem), kind=declaration.get("kind", "measured"),
        licence=declaration.get("licence", "not declared"), source=declaration.get("source", path.name),
        quantity=quantity, description=declaration.get("description", ""),
        spectra=tuple(Spectrum(head, wavelength, values, quantity, polarization) for head, values in responses.items()),
    )


def number(value: object, place: str) -> float:
    """The finite number in a cell.

    Raises:
        DataError: empty, text, a date, true/false, NaN or infinity.
    """
    if value is None:
        raise DataError(f"{place}: empty; every spectrum needs a number at every wavelength")
    try:
        if isinstance(value, bool) or (isinstance(value, str) and "_" in value):  # float("1_000") is 1000
            raise TypeError
        result = float(value)  # type: ignore[arg-type]  # text of a CSV cell, or a workbook's number
    except (TypeError, ValueError):
        raise DataError(f"{place}: {str(value)!r} is not a number; correct it or remove its row or column") from None
    if not np.isfinite(result):
        raise DataError(f"{place}: {value} is not finite; correct it or remove its row or column")
    return result


def layout(sheet: Sheet, declared: str | None) -> str:
    """Where the wavelengths stand: ``first_column`` or ``first_row``.

    Raises:
        DataError: an unknown layout, too small a table, or one that can be read both ways or neither.
    """
    if isinstance(sheet.rows[0][0], int | float) or str(sheet.rows[0][0] or "").replace(".", "", 1).isdigit():
        raise DataError(f"{sheet.place(0, 0)}: {sheet.rows[0][0]} is a number; the first row (or column) must hold the "
                        "names of the spectra, under or beside a word such as 'wavelength'")
    if declared not in (None, "auto"):
        if declared not in LAYOUTS:
            raise DataError(f"{sheet.path}: dataset.wavelengths: {declared!r} is no layout{near(declared, LAYOUTS)}")
        return declared
    column, row = [r[0] for r in sheet.rows[1:]], list(sheet.rows[0][1:])
    if not column or not row:
        raise DataError(f"{sheet.path}: one {'row' if not column else 'column'} only; a table of spectra has a line of "
                        "wavelengths and a line for every spectrum")
    lines = dict(zip(LAYOUTS, (column, row), strict=True))
    likely = [name for name, cells in lines.items() if _rising(cells) >= 0.5]  # one bad cell must not hide the axis
    if len(likely) == 2:
        likely = [name for name in likely if len(lines[name]) >= 3 and _rising(lines[name]) == 1] or likely
    corner = str(sheet.rows[0][0]).casefold()
    if len(likely) == 2 and any(word in corner for word in ("wave", "lambda", "nm", "energy")):
        likely = ["first_column"]  # the word heads a column
    if len(likely) != 1:
        found = "both the first column and the first row hold" if likely else "neither the first column nor row holds"
        raise DataError(f"{sheet.path}: {found} rising numbers, so it is not clear where the wavelengths are; declare "
                        "wavelengths: first_column or first_row")
    return likely[0]


def _rising(cells: list[object]) -> float:
    """Share of the cells' steps that go the way most go, as far as they are numbers; 0 if most cells are none."""
    values = []
    for v in cells:
        try:
            values.append(float(v))  # type: ignore[arg-type]
        except (TypeError, ValueError):
            continue
    if len(values) < 0.6 * len(cells) or not values:
        return 0.0
    steps = np.diff(values)
    return max((steps > 0).mean(), (steps < 0).mean()) if len(steps) else 1.0


def names(sheet: Sheet, lines: list[tuple[object, ...]], place: Any) -> dict[str, int]:
    """Name of every spectrum -> its line, in the table's order.

    Raises:
        DataError: no spectra, a spectrum without a name, or two of one name.
    """
    found: dict[str, int] = {}
    for at, line in enumerate(lines[1:], start=1):
        if line[0] is None:
            raise DataError(f"{place(at, 0)}: empty; every spectrum needs a name")
        name = str(line[0]).strip()
        if name in found:
            raise DataError(f"{place(at, 0)}: {name!r} is the name of {place(found[name], 0).rpartition(': ')[2]} too; "
                            "names must differ")
        found[name] = at
    if not found:
        raise DataError(f"{sheet.path}: no spectra beside the wavelengths")
    return found


def subtract(responses: dict[str, np.ndarray], blank: str | None) -> dict[str, np.ndarray]:
    """Without background: ``minimum`` (of each spectrum, a constant), or the name of a blank, which is left out."""
    if blank is None:
        return responses
    if blank == "minimum":
        return {head: values - values.min() for head, values in responses.items()}
    background = responses[blank]
    return {head: values - background for head, values in responses.items() if head != blank}
