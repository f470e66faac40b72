"""Files that somebody else made to do harm: each is refused with one clear error, before it costs memory or time."""

from __future__ import annotations

import io
import json
import os
import struct
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness import cli
from harness.datasets import goldenview, mmimdb, moclip, pairs_jsonl, spectra_table
from harness.datasets.archive import MIB
from harness.datasets.pictures import read_picture
from harness.errors import DataError, IsoprobeError, SpecError
from harness.spec import declaration, load
from harness.tests.plugin.session import project, session

SPECS = Path(__file__).parents[3] / "specs"
ANSWER = {"space": "choice", "values": ["yes", "no"]}


@pytest.fixture(autouse=True)
def cheap():
    """Nothing here may take more than 5 s of processor time, nor 300 MiB more memory than ever before."""
    resource = pytest.importorskip("resource")
    started, most = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert time.process_time() - started < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most < 300 * 1024


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, *chunks: bytes) -> bytes:
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(chunks) + chunk(b"IEND", b"")


def refusal(read: Callable[[], Any]) -> tuple[str, Any]:
    """What an error of ours says, or "" and what was read; any other error fails the test."""
    try:
        return "", read()
    except IsoprobeError as error:
        return str(error), None


# -- ids and paths -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../x", "a/b", "a\\b", "..", ".", "a b", "a\nb", "a\x00b", "\x1b[2J", "", "x" * 300,
                                  "\u202eab"])
def test_an_id_that_is_no_name_is_refused(tmp_path, name):
    (tmp_path / "x.jsonl").write_text(json.dumps({"id": name, "log": "t", "answer": "yes"}), "utf-8")
    with pytest.raises(DataError, match=r"x\.jsonl:1: id "):
        pairs_jsonl.load(tmp_path / "x.jsonl", {"log": "text"}, ANSWER)


PATHS = ["../secret.png", "a/../../secret.png", "/etc/hostname", "..\\secret.png", "a\x00.png"]


@pytest.mark.parametrize("path", PATHS)
def test_a_picture_outside_the_folder_of_its_data_file_is_refused(tmp_path, path):
    (tmp_path / "secret.png").write_bytes(png(1, 1))
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "x.jsonl").write_text(json.dumps({"photo": path, "answer": "yes"}), "utf-8")
    with pytest.raises(DataError, match=r"x\.jsonl:1: photo: the path .* leaves the folder .*; only files below"):
        pairs_jsonl.load(folder / "x.jsonl", {"photo": "image"}, ANSWER)


def test_a_camera_outside_the_folder_of_its_set_is_refused(tmp_path):
    row = {"question_id": "q", "question_group": goldenview.GROUPS[0], "scene_name": "s", "question": "?",
           "options": dict(zip("ABCD", "wxyz", strict=True)), "gold_answer_id": "A", "golden_view": goldenview.NONE,
           "views": dict.fromkeys(goldenview.CAMERAS, "../../etc/x.jpg")}
    (tmp_path / "eval.jsonl").write_text(json.dumps(row), "utf-8")
    with pytest.raises(DataError, match="leaves the folder"):
        goldenview.load(tmp_path / "eval.jsonl")


def test_a_film_outside_the_folder_of_its_set_is_refused(tmp_path):
    (tmp_path / "split.json").write_text(json.dumps({"test": ["../../../etc/passwd"]}), "utf-8")
    with pytest.raises(DataError, match="leaves the folder"):
        mmimdb.load(tmp_path, split="test")


@pytest.mark.parametrize("name", ["../gold-main", "/etc/x", "a/b"])
def test_a_spec_excludes_specs_by_name_and_not_by_path(tmp_path, name):
    words = (SPECS / "invariance" / "metasurface-scope.yaml").read_text("utf-8")
    words = words.replace("exclude: [metasurface-main]", f"exclude: [{name}]")
    (tmp_path / "x.yaml").write_text(words, "utf-8")
    with pytest.raises(SpecError, match=r"exclude\.0: .*lower-case letters, digits and hyphens"):
        load(tmp_path / "x.yaml")


@pytest.mark.parametrize("name", ["../x", "/tmp/x", ".hidden", "x" * 200])
def test_a_run_id_that_is_no_name_is_refused(tmp_path, name):
    done = session(project(tmp_path / "p"), "--run-id", name, "--collect-only", "-n", "0", "--spec", "gold-main")
    assert (4, True) == (done.status, f"--run-id {name!r}: letters, digits" in done.text), done.text


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_the_place_of_a_table_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "x.csv")
    with pytest.raises(DataError, match="no regular file"):
        spectra_table.load({"table": "x.csv"}, tmp_path)


# -- bombs ------------------------------------------------------------------------------------------------------------------


def bomb(levels: int, width: int = 10) -> str:
    lines = [f"a0: &a0 [{', '.join('x' * width)}]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * width)}]" for i in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize("text", [bomb(9), "&a [*a]", "a: &a {b: *a}", "[" * 20_000, "{a: " * 20_000, "? " * 20_000,
                                  "- " * 20_000, "a: !!binary " + "A" * 100, "a: &x b\n" * 3, "!!python/object:os.x {}"],
                         ids=["aliases", "loop", "loop in a map", "lists", "maps", "keys", "dashes", "tag", "twice",
                              "object"])
def test_a_yaml_bomb_is_a_spec_error_wherever_a_declaration_is_read(tmp_path, text):
    specs = tmp_path / "specs"
    specs.mkdir()
    for name in ("models.yaml", "x.yaml"):
        (specs / name).write_text(text, "utf-8")
    for read in (lambda: load(specs / "x.yaml"), lambda: declaration(tmp_path, "models")):
        with pytest.raises(SpecError):
            read()


def test_the_command_says_one_line_about_a_yaml_bomb(tmp_path, capsys):
    (tmp_path / "x.yaml").write_text(bomb(9), "utf-8")
    assert 2 == cli.main(["validate", str(tmp_path / "x.yaml")])
    said = capsys.readouterr().err
    assert (1, True) == (said.count("\n"), "values (aliases expanded)" in said)


@pytest.mark.parametrize("data, message", [
    (png(60_000, 60_000, chunk(b"IDAT", zlib.compress(bytes(1000)))), "150 million pixels"),
    (png(4, 4, chunk(b"zTXt", b"k\0\0" + zlib.compress(bytes(80 * MIB))), chunk(b"IDAT", zlib.compress(bytes(20)))), ""),
    (png(4, 4, chunk(b"iCCP", b"k\0\0" + zlib.compress(bytes(80 * MIB))), chunk(b"IDAT", zlib.compress(bytes(20)))), ""),
    (png(4, 4, chunk(b"IDAT", b"\0" * 20)), "damaged"),
    (png(0, 0), ""),
    (b"GIF89a" + struct.pack("<HH", 65535, 65535) + b"\x80\0\0" + b"\0\0\0\xff\xff\xff,\0\0\0\0\xff\xff\xff\xff\0\2\2D\1\0;",
     "million pixels"),
    (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not a picture"),
], ids=["pixels", "text", "profile", "data", "empty", "gif", "svg"])
def test_a_picture_made_to_explode_is_a_picture_or_a_data_error(data, message):
    said, made = refusal(lambda: read_picture(data, "bomb.png"))
    assert said.startswith("bomb.png: ") if said else len(made) < 10_000  # what hid beside the pixels is left out
    assert message in said


def workbook(parts: dict[str, bytes]) -> bytes:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["wavelength", "a"])
    plain, out = io.BytesIO(), io.BytesIO()
    book.save(plain)
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, parts.get(name, old.read(name)))
        for name in parts.keys() - set(old.namelist()):
            new.writestr(name, parts[name])
    return out.getvalue()


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
ENTITIES = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 12))
LAUGHS = (f'<?xml version="1.0"?><!DOCTYPE w [<!ENTITY e0 "ha">{ENTITIES}]>'
          f'<worksheet xmlns="{MAIN}"><sheetData><row><c t="inlineStr"><is>'
          "<t>&e11;</t></is></c></row></sheetData></worksheet>").encode()
OUTSIDE = ('<?xml version="1.0"?><!DOCTYPE w [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
           f'<worksheet xmlns="{MAIN}"><sheetData><row><c t="inlineStr"><is>'
           "<t>&x;</t></is></c></row></sheetData></worksheet>").encode()
FAR = (f'<worksheet xmlns="{MAIN}"><sheetData><row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
       "</worksheet>").encode()


@pytest.mark.parametrize("part, data", [
    ("xl/worksheets/sheet1.xml", LAUGHS), ("xl/worksheets/sheet1.xml", OUTSIDE), ("xl/worksheets/sheet1.xml", FAR),
    ("xl/media/big.bin", bytes(80 * MIB)),
], ids=["entities", "outside entity", "far cell", "zip bomb"])
def test_a_workbook_made_to_explode_is_a_data_error(tmp_path, part, data):
    (tmp_path / "x.xlsx").write_bytes(workbook({part: data}))
    with pytest.raises(DataError, match=r"x\.xlsx") as caught:
        spectra_table.load({"table": "x.xlsx"}, tmp_path)
    assert "root:" not in str(caught.value)


def test_an_archive_that_lies_about_its_size_is_a_data_error(tmp_path):
    """The directory says 10 bytes; only what it says is unpacked."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("wvl.npy", "spectra_x.npy"):
            archive.writestr(name, bytes(80 * MIB))
    data = out.getvalue().replace(struct.pack("<I", 80 * MIB), struct.pack("<I", 10))
    (tmp_path / "x.npz").write_bytes(data)
    with pytest.raises(DataError, match=r"x\.npz"):
        moclip.published(tmp_path / "x.npz", "x")


def test_an_array_that_claims_more_than_there_is_is_a_data_error(tmp_path):
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (10**12, 29)})
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("wvl.npy", head.getvalue())
        archive.writestr("spectra_x.npy", head.getvalue())
    with pytest.raises(DataError, match=r"x\.npz: cannot be read as numbers"):
        moclip.published(tmp_path / "x.npz", "x")


LINES = {"lists": "[" * 200_000, "maps": "{\"a\":" * 50_000, "digits": "9" * 10_000,
         "infinite": '{"id": 1e999, "log": "t", "answer": "yes"}', "surrogate": '{"log": "\\ud800", "answer": "yes"}'}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_line_made_to_explode_is_an_item_or_an_error(tmp_path, line):
    (tmp_path / "x.jsonl").write_text(line, "utf-8")
    said, made = refusal(lambda: pairs_jsonl.load(tmp_path / "x.jsonl", {"log": "text"}, ANSWER))
    assert "x.jsonl" in said or made is not None


def test_a_table_of_one_endless_line_is_a_data_error(tmp_path):
    (tmp_path / "x.csv").write_text("a," * 200_000, "utf-8")
    with pytest.raises(DataError):
        spectra_table.load({"table": "x.csv"}, tmp_path)


