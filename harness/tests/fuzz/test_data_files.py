"""Data files: whatever stands in them, they are spectra, items or outcomes, or one of our errors."""

from __future__ import annotations

import contextlib
import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.datasets import moclip, pairs_jsonl, pictures, spectra_table
from harness.errors import DataError, IsoprobeError, RunError
from harness.report.run import OUTCOMES, read_outcomes
from harness.spectrum import SpectraSet
from harness.tests.fuzz.strategies import JSON, bounded, mutated, quick, replaced
from harness.tests.report.test_run_folder import row

CSV = "wavelength_nm,a,b\n" + "".join(f"{450 + 10 * i},{0.1 * i:.2f},{1 - 0.1 * i:.2f}\n" for i in range(6))
ITEM = {"id": "p1", "log": "Seal changed.", "answer": "yes", "cluster": "c", "regime": "redundant", "alone": {"log": "no"},
        "sufficient": {"log": True}, "options": {"yes": "Yes.", "no": "No."}, "question": "Well?", "golden": "log"}


@bounded(150)
@given(st.one_of(mutated(CSV.encode()), mutated(CSV.replace(",", ";").encode("utf-16")), st.binary(max_size=80),
                 st.text(alphabet="0123456789.,;\t\n\"'-+eEnaif_ ab\x00\ufeff\u0660", max_size=120).map(str.encode)),
       st.sampled_from(["nm", "eV"]), st.sampled_from([{}, {"wavelengths": "first_row"}, {"blank": "a"}, {"skip_rows": 2},
                                                      {"columns": ["b"]}, {"quantity": "transmission", "percent": True}]))
def test_any_text_file_is_spectra_or_a_data_error(tmp_path, data, unit, more):
    (tmp_path / "x.csv").write_bytes(data)
    with contextlib.suppress(DataError), quick():
        found = spectra_table.load({"table": "x.csv", "unit": unit, **more}, tmp_path)
        assert isinstance(found, SpectraSet)


def workbook() -> bytes:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for line in CSV.splitlines():
        book.active.append([float(c) if c[:1].isdigit() else c for c in line.split(",")])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def test_a_damaged_workbook_is_spectra_or_a_data_error(tmp_path):
    source = workbook()

    @bounded(50)
    @given(mutated(source, changes=4))
    def holds(data):
        (tmp_path / "x.xlsx").write_bytes(data)
        with contextlib.suppress(DataError), quick():
            spectra_table.load({"table": "x.xlsx"}, tmp_path)

    holds()


def test_a_workbook_of_damaged_parts_is_spectra_or_a_data_error(tmp_path):
    """The archive is whole and the XML inside it is not: what a mutated zip seldom gets to."""
    import zipfile

    with zipfile.ZipFile(io.BytesIO(workbook())) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}

    @bounded(50)
    @given(st.data())
    def holds(data):
        name = data.draw(st.sampled_from(sorted(parts)))
        changed = data.draw(mutated(parts[name]))
        with zipfile.ZipFile(tmp_path / "x.xlsx", "w") as archive:
            for other, content in parts.items():
                archive.writestr(other, changed if other == name else content)
        with contextlib.suppress(DataError), quick():
            spectra_table.load({"table": "x.xlsx"}, tmp_path)

    holds()


def npz(**arrays) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


WHOLE = npz(wvl=moclip.GRID_NM, spectra_x=np.linspace(0, 1, 58).reshape(2, 29), spectra_y=np.ones((2, 29)), geom=np.ones(2))


@bounded(120)
@given(mutated(WHOLE, changes=4))
def test_a_damaged_archive_of_arrays_is_spectra_or_a_data_error(tmp_path, data):
    (tmp_path / "x.npz").write_bytes(data)
    with contextlib.suppress(DataError), quick():
        moclip.published(tmp_path / "x.npz", "x")


KINDS = st.sampled_from(["f8", "f4", "i8", "?", "U3", "c16", "M8[s]", "S2", "V4"])


@bounded(80)
@given(KINDS, KINDS, st.lists(st.integers(0, 30), max_size=3), st.lists(st.integers(0, 30), max_size=2))
def test_arrays_of_any_kind_and_shape_are_spectra_or_a_data_error(tmp_path, kind, axis_kind, shape, axis):
    (tmp_path / "x.npz").write_bytes(npz(wvl=np.zeros(axis, axis_kind), spectra_x=np.zeros(shape, kind), geom=np.ones(2)))
    with contextlib.suppress(DataError), quick():
        moclip.published(tmp_path / "x.npz", "x")


@bounded(120)
@given(st.one_of(replaced(ITEM).map(json.dumps),
                 mutated(json.dumps(ITEM).encode()).map(lambda b: b.decode("utf-8", "replace")), JSON.map(json.dumps)))
def test_any_line_is_an_item_or_one_of_our_errors(tmp_path, line):
    (tmp_path / "x.jsonl").write_text(line, "utf-8", "surrogatepass")
    with contextlib.suppress(IsoprobeError), quick():
        pairs_jsonl.load(tmp_path / "x.jsonl", {"log": "text"}, {"space": "choice", "values": ["yes", "no"]})


@bounded(150)
@given(st.one_of(replaced(row().to_row(), changes=2).map(json.dumps), JSON.map(json.dumps),
                 st.sampled_from(["[" * 100_000, "9" * 5000, "\ufeff{}", "NaN"])), st.booleans())
def test_any_line_of_outcomes_is_a_row_or_a_run_error(tmp_path, line, ended):
    (tmp_path / OUTCOMES).write_text(f"{row().to_json()}\n{line}{chr(10) * ended}", "utf-8", "surrogatepass")
    with contextlib.suppress(RunError), quick():
        rows, _ = read_outcomes(tmp_path)
        assert 1 <= len(rows) <= 2


def picture() -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.linear_gradient("L").resize((40, 30)).save(out, "PNG")
    return out.getvalue()


@bounded(150)
@given(st.one_of(mutated(picture()), st.binary(max_size=60)))
def test_any_bytes_are_a_picture_or_a_data_error(data):
    with contextlib.suppress(DataError), quick():
        assert pictures.read_picture(data, "x.png").startswith(b"\x89PNG")
