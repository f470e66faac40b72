"""Any table of spectra: layouts, units, backgrounds, and one message for every mistake."""

import zipfile
from pathlib import Path

import pytest

from harness import datasets
from harness.datasets import archive, cells
from harness.errors import DataError

COLUMNS = "Wavelength,A1,A2\n400,0.1,0.3\n500,0.5,0.4\n600,0.2,0.2\n"
ROWS = "id,400,500,600\nA1,0.1,0.5,0.2\nA2,0.3,0.4,0.2\n"


def read(folder: Path, text: str, name: str = "t.csv", **declared):
    (folder / name).write_text(text, encoding="utf-8")
    return datasets.load({"table": name, **declared}, folder)


def values(found) -> dict[str, list[float]]:
    return {s.id: s.response.round(12).tolist() for s in found.spectra}


def workbook(path: Path, rows: list[list[object]], title: str = "Sheet1", more: str = "") -> None:
    book = pytest.importorskip("openpyxl").Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    if more:
        book.create_sheet(more)
    book.save(path)


@pytest.mark.parametrize("name, text", [
    ("t.csv", COLUMNS), ("t.csv", ROWS), ("t.tsv", COLUMNS.replace(",", "\t")), ("t.csv", "\ufeff" + ROWS),
    ("t.csv", COLUMNS.replace(",", ";").replace(".", ",")), ("t.csv", COLUMNS.replace("\n", "\r\n") + ",,\r\n\r\n"),
    ("t.csv", "Wavelength,A1,A2\n600,0.2,0.2\n500,0.5,0.4\n400,0.1,0.3\n"),
])
def test_layouts_separators_and_directions_give_the_same_spectra(tmp_path, name, text):
    found = read(tmp_path, text, name)
    assert found.spectra[0].wavelength_nm.tolist() == [400, 500, 600]
    assert values(found) == {"A1": [0.1, 0.5, 0.2], "A2": [0.3, 0.4, 0.2]}


def test_a_workbook_reads_like_its_csv(tmp_path):
    rows = [["Wavelength", "A1", "A2"], [400, 0.1, 0.3], [500, 0.5, 0.4], [600, 0.2, 0.2]]
    workbook(tmp_path / "t.xlsx", rows)
    assert values(datasets.load({"table": "t.xlsx"}, tmp_path)) == values(read(tmp_path, COLUMNS))


def test_an_energy_axis_becomes_ascending_wavelengths(tmp_path):
    found = read(tmp_path, "energy,A\n2.0,0.1\n2.5,0.2\n3.0,0.3\n", unit="eV")
    assert found.spectra[0].wavelength_nm.round(1).tolist() == [413.3, 495.9, 619.9]
    assert found.spectra[0].response.tolist() == [0.3, 0.2, 0.1]


@pytest.mark.parametrize("unit, axis", [
    ("um", "0.4 0.5 0.6"), ("cm^-1", "16666.667 20000 25000"), ("nm", "400 500 600"), ("THz", "499.65 599.58 749.48"),
])
def test_every_unit_of_the_axis_is_understood(tmp_path, unit, axis):
    text = "axis,A\n" + "".join(f"{v},{i}\n" for i, v in enumerate(axis.split()))
    assert read(tmp_path, text, unit=unit).spectra[0].wavelength_nm.round(1).tolist() == [400, 500, 600]


def test_the_declaration_describes_the_set(tmp_path):
    declared = {"quantity": "transmission", "kind": "simulated", "licence": "CC0", "source": "me", "polarization": "x"}
    found = read(tmp_path, COLUMNS, **declared)
    assert (found.name, found.kind, found.licence, found.source) == ("t", "simulated", "CC0", "me")
    assert (found.spectra[0].quantity, found.spectra[0].polarization) == ("transmission", "x")


def test_a_blank_is_subtracted_and_left_out(tmp_path):
    assert values(read(tmp_path, COLUMNS, blank="A2")) == {"A1": [-0.2, 0.1, 0.0]}
    assert values(read(tmp_path, ROWS, blank="A2")) == {"A1": [-0.2, 0.1, 0.0]}


def test_the_minimum_can_be_the_background(tmp_path):
    assert values(read(tmp_path, COLUMNS, blank="minimum"))["A1"] == [0.0, 0.4, 0.1]


def test_columns_choose_spectra_and_percent_scales(tmp_path):
    text = "nm,A,B\n400,10,1\n500,50,1\n600,20,1\n"
    found = read(tmp_path, text, columns=["A"], percent=True, quantity="transmission")
    assert values(found) == {"A": [0.1, 0.5, 0.2]}


def test_a_preamble_is_passed_over_and_places_still_count_from_the_top(tmp_path):
    preamble = "Instrument 7\nDate,2024-01-02\n"
    assert values(read(tmp_path, preamble + COLUMNS, skip_rows=2))["A2"] == [0.3, 0.4, 0.2]
    with pytest.raises(DataError, match="row 5, column 2"):
        read(tmp_path, preamble + COLUMNS.replace("0.5", "x"), skip_rows=2)


def test_bytes_that_are_no_text_are_named(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"nm,A\n400,\xff\n")
    with pytest.raises(DataError, match=r"t\.csv: byte 9 is not utf-8-sig; save the file as UTF-8"):
        datasets.load({"table": "t.csv"}, tmp_path)


BAD = {
    "text in a cell": (COLUMNS.replace("0.5", "OVRFLW"), {}, "t.csv: row 3, column 2 ('A1'): 'OVRFLW' is not a number; "
                       "correct it or remove its row or column"),
    "text in a cell, rows": (ROWS.replace("0.5", "x"), {}, "t.csv: row 2, column 3 ('500'): 'x' is not a number"),
    "an empty cell": (COLUMNS.replace("0.5", ""), {}, "row 3, column 2 ('A1'): empty; every spectrum needs a number"),
    "NaN": (COLUMNS.replace("0.5", "nan"), {}, "row 3, column 2 ('A1'): nan is not finite"),
    "a digit separator": (COLUMNS.replace("0.5", "1_0"), {}, "'1_0' is not a number"),
    "unsorted wavelengths": (COLUMNS.replace("600", "450"), {},
                             "row 4, column 1 ('Wavelength'): 450 follows 500; wavelength values must be sorted"),
    "equal wavelengths": (COLUMNS.replace("600", "500"), {},
                          "row 4, column 1 ('Wavelength'): 500 stands twice; wavelength values must differ"),
    "text among wavelengths": (COLUMNS.replace("500,", "500nm,"), {}, "'500nm' is not a number"),
    "too few samples": ("nm,A\n400,1\n500,2\n", {}, "t.csv: 2 samples; a spectrum needs at least 3"),
    "wavelengths in um": ("w,A\n0.45,1\n0.5,2\n0.73,3\n", {}, "t.csv: row 2, column 1 ('w'): the axis runs from 0.45 "
                          "to 0.73, which cannot be nm; it looks like um (450-730 nm)"),
    "wavelengths in nm as um": (COLUMNS, {"unit": "um"}, "cannot be um; it looks like nm (400-600 nm); declare unit"),
    "energies as nm": ("E,A\n3,1\n2,2\n1.5,3\n", {}, "eV (413-827 nm)"),
    "an unknown unit": (COLUMNS, {"unit": "mm"}, "dataset.unit: 'mm' is not a unit of the axis; did you mean 'um'?"),
    "an unknown column": (COLUMNS, {"columns": ["A3"]}, "t.csv: no spectrum 'A3'; did you mean 'A2'? valid: A1, A2"),
    "an unknown blank": (COLUMNS, {"blank": "H12"}, "t.csv: no spectrum 'H12'; valid: A1, A2"),
    "two spectra of one name": (COLUMNS.replace("A2", "A1"), {}, "'A1' is the name of row 1, column 2 too"),
    "a spectrum without a name": (COLUMNS.replace("A1", ""), {}, "row 1, column 2: empty; every spectrum needs a name"),
    "no names at all": ("400,0.1,0.3\n500,0.5,0.4\n600,0.2,0.2\n", {}, "row 1, column 1: 400 is a number; the first"),
    "no spectra": ("Wavelength\n400\n500\n", {}, "one column only; a table of spectra has"),
    "both layouts possible": ("x,1,2,3\n400,1,2,3\n500,2,3,4\n600,3,4,5\n", {},
                              "both the first column and the first row hold rising numbers"),
    "neither layout possible": ("x,a,b\nc,1,2\nd,3,4\n", {}, "neither the first column nor row holds"),
    "an unknown layout": (COLUMNS, {"wavelengths": "rows"}, "'rows' is no layout; valid: first_column, first_row"),
    "percent": ("nm,A\n400,10\n500,50\n600,20\n", {"quantity": "transmission"},
                "row 3, column 2 ('A'): transmission 50 is more than 1; if the table is in percent declare percent"),
    "an empty file": ("\n,\n", {}, "t.csv: the table is empty"),
    "a sheet of a text file": (COLUMNS, {"sheet": "one"}, "a text file has no sheets"),
    "a broken quote": ('nm,"A\n400,1\n', {}, "not a table with ',' between columns"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_is_one_error_with_place_value_and_remedy(tmp_path, case):
    text, declared, message = BAD[case]
    with pytest.raises(DataError) as error:
        read(tmp_path, text, **declared)
    assert message in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "t.csv"))
    assert "\n" not in str(error.value)


def test_a_layout_that_can_be_read_both_ways_can_be_declared(tmp_path):
    text = "x,410,420,430\n400,1,2,3\n500,2,3,4\n600,3,4,5\n"
    assert list(values(read(tmp_path, text, wavelengths="first_column"))) == ["410", "420", "430"]
    assert list(values(read(tmp_path, text, wavelengths="first_row"))) == ["400", "500", "600"]


@pytest.mark.parametrize("cell, message", [
    ("OVRFLW", "cell C3: 'OVRFLW' is not a number"), (None, "cell C3: empty"), (True, "cell C3: 'True' is not"),
])
def test_a_plate_with_a_bad_cell_names_the_spreadsheet_cell(tmp_path, cell, message):
    workbook(tmp_path / "p.xlsx", [["Wavelength", "F9", "F10"], [400, 1, 2], [405, 1, cell], [410, 1, 2]])
    with pytest.raises(DataError) as error:
        datasets.load({"table": "p.xlsx"}, tmp_path)
    assert message in str(error.value)


def test_the_sheet_of_a_workbook_is_named(tmp_path):
    workbook(tmp_path / "p.xlsx", [["Wavelength", "A"], [400, 1], [405, "x"], [410, 1]], "raw data", "notes")
    with pytest.raises(DataError, match=r"p.xlsx: sheet 'raw data', cell B3: 'x'"):
        datasets.load({"table": "p.xlsx", "sheet": "raw data"}, tmp_path)
    with pytest.raises(DataError, match=r"no sheet 'raw'; did you mean 'raw data'\? valid: raw data, notes"):
        datasets.load({"table": "p.xlsx", "sheet": "raw"}, tmp_path)
    with pytest.raises(DataError, match="the table is empty"):
        datasets.load({"table": "p.xlsx", "sheet": "notes"}, tmp_path)


def test_a_missing_file_names_the_nearest_one(tmp_path):
    (tmp_path / "spectra.csv").write_text(COLUMNS)
    with pytest.raises(DataError, match=r"spectre.csv: no such file; did you mean 'spectra.csv'\?"):
        datasets.load({"table": "spectre.csv"}, tmp_path)


@pytest.mark.parametrize("name, content, message", [
    ("t.ods", b"", ".ods is not a table format; save it as .csv, .tsv, .txt, .xlsx, .xlsm"),
    ("t.xlsx", b"nm,A\n", "not an XLSX file (no zip archive inside)"),
    ("t.csv", b"nm,\xb5A\n400,1\n", "byte 3 is not utf-8"),
])
def test_another_format_says_what_to_save(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError) as error:
        datasets.load({"table": name}, tmp_path)
    assert message in str(error.value)


def test_a_utf16_export_is_read(tmp_path):
    (tmp_path / "t.csv").write_text(COLUMNS, encoding="utf-16")
    assert values(datasets.load({"table": "t.csv"}, tmp_path))["A1"] == [0.1, 0.5, 0.2]


def test_a_zip_that_is_no_workbook_is_one_error(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w") as file:
        file.writestr("a.txt", "a")
    with pytest.raises(DataError, match="not an XLSX file that can be read"):
        datasets.load({"table": "t.xlsx"}, tmp_path)


def test_a_workbook_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    workbook(tmp_path / "p.xlsx", [["Wavelength", "A"], [400, 1], [405, 1], [410, 1]])
    monkeypatch.setattr(cells, "LIMIT", 100)
    with pytest.raises(DataError, match="unpacks to 0 MiB; at most 0 MiB are read"):
        datasets.load({"table": "p.xlsx"}, tmp_path)
    assert archive.MIB == 1024**2


@pytest.mark.parametrize("limit", ["LIMIT", "LARGEST"])
def test_a_huge_text_file_is_refused(tmp_path, monkeypatch, limit):
    monkeypatch.setattr(cells, limit, 5)
    with pytest.raises(DataError, match=r"at most 0 MiB are read|more than 5 cells"):
        read(tmp_path, COLUMNS)


def test_columns_have_spreadsheet_names():
    assert [cells.letters(i) for i in (0, 25, 26, 51, 701, 702)] == ["A", "Z", "AA", "AZ", "ZZ", "AAA"]
