"""Tables of spectra as text: csv as in appendix B of the optical-spectra paper, markdown and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from ..errors import DataError, near
from ..probe import View
from ..spectrum import AxisUnit, Spectrum
from .style import AXIS_FORMATS, TableStyle, axis_of, style_of

UNIT_SUFFIX = {"cm^-1": "cm-1"}
"""Units whose column suffix differs from their name."""
AXIS_TITLES = {
    "nm": "Wavelength (nm)",
    "um": "Wavelength (\N{MICRO SIGN}m)",
    "eV": "Photon energy (eV)",
    "cm^-1": "Wavenumber (cm\N{SUPERSCRIPT MINUS}\N{SUPERSCRIPT ONE})",
    "THz": "Frequency (THz)",
}


def render_table(spectra: Sequence[Spectrum], names: Sequence[str], view: View) -> str:
    """The spectra as one table, a column each, no trailing newline.

    Rows are sorted by the displayed axis, ascending unless ``view.order`` is ``descending``. A sample that was cut is
    an absent row; where only some of several spectra have a wavelength, the others' cells are empty (JSON: null).
    One spectrum has the column ``transmission``, several ``transmission_A`` and so on by ``names``.

    Args:
        spectra: the evidence, one or more, of one quantity.
        names: a name for each.
        view: ``kind`` csv | markdown | json, ``unit``, ``order``, ``style`` (see ``TableStyle``).

    Raises:
        DataError: unknown kind, unit, style or format; quantities differ; two wavelengths round to the same text.
    """
    if view.kind not in WRITERS:
        raise DataError(f"view {view.name}: {view.kind!r} is not a kind of table{near(view.kind, WRITERS)}")
    style, unit = style_of(TableStyle, view), axis_of(view)
    header = column_names(spectra, names, view, unit, style.header)
    axis_format = style.axis_format or AXIS_FORMATS[unit.name]
    grids = {s.wavelength_nm.tobytes() for s in spectra}
    columns = [format_numbers(s.response, style.response_format, view) for s in spectra]
    if len(grids) == 1:
        grid = spectra[0].wavelength_nm
    else:  # samples that only some spectra have leave the others' cells empty
        found = [dict(zip(s.wavelength_nm.tolist(), c, strict=True)) for s, c in zip(spectra, columns, strict=True)]
        grid = np.array(sorted({nm for column in found for nm in column}))
        columns = [tuple(column.get(nm, "") for nm in grid.tolist()) for column in found]
    labels = format_numbers(unit.from_nm(grid), axis_format, view)
    if len(set(labels)) < len(labels):
        reject_collisions(grid, labels, axis_format, view)
    rows = list(zip(labels, *columns, strict=True))
    if unit.descending != (view.order == "descending"):  # samples are kept by ascending wavelength
        rows.reverse()
    return WRITERS[view.kind](header, rows)


def column_names(
    spectra: Sequence[Spectrum], names: Sequence[str], view: View, unit: AxisUnit, header: str
) -> list[str]:
    """``[photon_energy_eV, transmission_A, transmission_B]``, or titles with the units in brackets."""
    quantity = quantity_of(spectra, names, view)
    if header == "title":
        word = quantity.replace("_", " ").capitalize()
        return [AXIS_TITLES[unit.name], *([word] if len(names) == 1 else [f"{word} {n}" for n in names])]
    word = quantity.replace(" ", "_")
    axis = f"{unit.quantity}_{UNIT_SUFFIX.get(unit.name, unit.name)}"
    return [axis, *([word] if len(names) == 1 else [f"{word}_{n}" for n in names])]


def quantity_of(spectra: Sequence[Spectrum], names: Sequence[str], view: View) -> str:
    """The one quantity of all spectra. Raises DataError: none, several, or names that do not pair up."""
    if not spectra or len(spectra) != len(names):
        raise DataError(f"view {view.name}: {len(spectra)} spectra and {len(names)} names; give one name to each")
    quantities = sorted({s.quantity for s in spectra})
    if len(quantities) > 1:
        raise DataError(f"view {view.name}: {' and '.join(quantities)} cannot share one axis; show one quantity")
    return quantities[0]


def format_numbers(values: np.ndarray, spec: str, view: View) -> tuple[str, ...]:
    """Each value as Python formats it, the same everywhere, never ``-0.000``. Raises DataError on a bad format."""
    try:
        return _formatted(values.tobytes(), spec)
    except ValueError:
        raise DataError(
            f"view {view.name}: {spec!r} is not a number format; valid are Python's, e.g. 'd', '.3f', '.3e'"
        ) from None


@lru_cache(maxsize=4096)
def _formatted(values: bytes, spec: str) -> tuple[str, ...]:
    """The four tables of one spectrum show the same responses, and all spectra the same axis: format each once."""
    whole = spec.endswith("d")
    texts = [format(round(v) if whole else v + 0.0, spec) for v in np.frombuffer(values).tolist()]
    return tuple(t[1:] if t.startswith("-") and not t.strip("-0.") else t for t in texts)


def reject_collisions(grid: np.ndarray, labels: Sequence[str], spec: str, view: View) -> None:
    """Raises DataError when the format makes two wavelengths look the same, naming a format that would not."""
    for i in range(1, len(labels)):
        if labels[i] == labels[i - 1]:
            raise DataError(
                f"view {view.name}: axis_format {spec!r} shows {grid[i - 1]:g} nm and {grid[i]:g} nm both as "
                f"{labels[i]} {view.unit}; {enough_digits(grid, spec, view)}"
            )


def enough_digits(grid: np.ndarray, spec: str, view: View) -> str:
    kind = spec[-1] if spec[-1:] in ("e", "f", "g") else "f"
    axis = axis_of(view).from_nm(grid)
    for digits in range(16):
        trial = f".{digits}{kind}"
        if len(set(format_numbers(axis, trial, view))) == len(grid):
            return f"{trial!r} keeps all samples apart"
    return "no format keeps all samples apart"


def csv(header: list[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(",".join(row) for row in [header, *rows])


def markdown(header: list[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---:"] * len(header)
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def json_rows(header: list[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns and rows, a row a line. Numbers keep their declared digits, so they are not passed through floats."""
    names = ", ".join(json.dumps(name, ensure_ascii=False) for name in header)
    body = ",\n".join("    [" + ", ".join(cell or "null" for cell in row) + "]" for row in rows)
    return f'{{\n  "columns": [{names}],\n  "rows": [\n{body}\n  ]\n}}'


Writer = Callable[[list[str], Sequence[Sequence[str]]], str]
WRITERS: dict[str, Writer] = {"csv": csv, "markdown": markdown, "json": json_rows}
