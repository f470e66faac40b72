"""A sheet of cells out of a CSV, TSV or XLSX file, each cell with the address by which its owner finds it."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import DataError, near
from .archive import MIB, check_zip

LIMIT = 64 * MIB
LARGEST = 4_000_000
"""Most cells read: 10,000 spectra of 400 samples."""
MOST_ROWS = 100_000
"""Of a workbook's sheet."""
SUFFIXES = (".csv", ".tsv", ".txt", ".xlsx", ".xlsm")
_MARKS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


@dataclass(frozen=True, slots=True)
class Sheet:
    """Rows of cells, all of one length, without empty rows at the ends and empty columns at the right.

    Attributes:
        path: the file.
        rows: values as stored: None for an empty cell, str in text files, number, bool or date in XLSX.
        first_row: 0-based number of the first row in the file.
        lettered: places are spreadsheet cells (``B7``) rather than rows and columns.
        name: of the sheet in a workbook.
    """

    path: Path
    rows: tuple[tuple[object, ...], ...]
    first_row: int = 0
    lettered: bool = False
    name: str = ""

    def place(self, row: int, column: int) -> str:
        """``plate.xlsx: cell B7`` or ``a.csv: row 7, column 2 ('E2')``; 0-based arguments."""
        at = self.first_row + row + 1
        if self.lettered:
            return f"{self.path}: {f'sheet {self.name!r}, ' if self.name else ''}cell {letters(column)}{at}"
        head = self.rows[0][column]
        title = f" ({str(head)!r})" if head is not None and row > 0 else ""
        return f"{self.path}: row {at}, column {column + 1}{title}"


def letters(column: int) -> str:
    """Spreadsheet name of a 0-based column: 0 is A, 26 is AA."""
    name = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        name = chr(ord("A") + rest) + name
    return name


def read_sheet(path: Path, sheet: str | None = None, skip_rows: int = 0) -> Sheet:
    """Read a table file without its first ``skip_rows`` rows; the kind follows from the suffix.

    Raises:
        DataError: missing, empty, too large, another format or encoding, no such sheet.
    """
    suffix = path.suffix.lower()
    if not path.exists():
        siblings = sorted(p.name for p in path.parent.glob("*") if p.suffix.lower() in SUFFIXES)
        raise DataError(f"{path}: no such file{near(path.name, siblings) if siblings else ''}")
    if suffix not in SUFFIXES:
        raise DataError(f"{path}: {suffix or 'no suffix'} is not a table format; save it as {', '.join(SUFFIXES)}")
    if suffix.startswith(".xls"):
        rows, name = _workbook(path, sheet)
        return _trim(path, rows, skip_rows, True, name)
    if sheet is not None:
        raise DataError(f"{path}: dataset.sheet: a text file has no sheets; remove it")
    return _trim(path, _text(path, skip_rows), skip_rows, False, "")


def _text(path: Path, skip: int) -> list[Sequence[object]]:
    if not path.is_file():
        raise DataError(f"{path}: is {'a folder' if path.is_dir() else 'no regular file'}; give a file")
    if path.stat().st_size > LIMIT:
        raise DataError(f"{path}: {path.stat().st_size / MIB:,.0f} MiB; at most {LIMIT / MIB:,.0f} MiB are read")
    raw = path.read_bytes()
    encoding = next((name for mark, name in _MARKS if raw.startswith(mark)), "utf-8-sig")
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: byte {error.start} is not {encoding}; save the file as UTF-8") from None
    first = next((line for line in text.splitlines()[skip:] if line.strip()), "")
    delimiter = max("\t;,", key=first.count)
    try:
        rows = [[cell.strip() or None for cell in row]
                for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)]
    except csv.Error as error:
        raise DataError(f"{path}: not a table with {delimiter!r} between columns: {error}") from None
    if delimiter == ";":  # where semicolons separate columns, the comma is the decimal sign
        rows = [[cell.replace(",", ".") if cell and _decimal_comma(cell) else cell for cell in row] for row in rows]
    return rows


def _decimal_comma(cell: str) -> bool:
    return cell.count(",") == 1 and cell.replace(",", "").lstrip("+-").isdigit()


def _workbook(path: Path, sheet: str | None) -> tuple[list[Sequence[object]], str]:
    check_zip(path, LIMIT, "an XLSX file")
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise DataError(f"{path}: reading XLSX needs openpyxl; pip install 'isoprobe[data]', or save as CSV") from None
    try:
        book = load_workbook(path, read_only=True, data_only=True)
    except Exception as error:  # openpyxl raises whatever its parsers raise
        raise DataError(f"{path}: not an XLSX file that can be read ({error}); save it again as XLSX or CSV") from None
    try:
        if sheet is not None and sheet not in book.sheetnames:
            raise DataError(f"{path}: no sheet {sheet!r}{near(sheet, book.sheetnames)}")
        page = book[sheet] if sheet is not None else book.worksheets[0]
        page.reset_dimensions()  # the stated size can be wrong; the rows themselves count
        rows: list[Sequence[object]] = []
        cells = 0
        for row in page.iter_rows(values_only=True):
            cells += len(row)
            if len(rows) > MOST_ROWS:  # one stray cell far below makes a million empty rows
                raise DataError(f"{path}: sheet {page.title!r} has more than {MOST_ROWS:,} rows; keep only the spectra")
            if cells > LARGEST:
                raise DataError(f"{path}: sheet {page.title!r} has more than {LARGEST:,} cells; keep only the spectra")
            rows.append([None if isinstance(v, str) and not v.strip() else v for v in row])
        return rows, page.title if len(book.sheetnames) > 1 else ""
    except DataError:
        raise
    except Exception as error:  # the sheet is parsed only now
        raise DataError(f"{path}: a sheet cannot be read ({type(error).__name__}: {error}); save the file again as XLSX "
                        "or CSV") from None
    finally:
        book.close()


def _trim(path: Path, rows: list[Sequence[object]], skip: int, lettered: bool, name: str) -> Sheet:
    filled = [i for i, row in enumerate(rows) if i >= skip and any(v is not None for v in row)]
    if not filled:
        raise DataError(f"{path}: the table is empty{f' below row {skip}' if skip else ''}")
    rows = rows[filled[0]:filled[-1] + 1]
    width = max(i + 1 for row in rows for i, v in enumerate(row) if v is not None)
    if width * len(rows) > LARGEST:
        raise DataError(f"{path}: more than {LARGEST:,} cells; keep only the spectra")
    even = tuple((*row[:width], *[None] * (width - len(row))) for row in rows)
    return Sheet(path, even, filled[0], lettered, name)
