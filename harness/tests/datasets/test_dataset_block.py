"""The ``dataset:`` block of a spec, its schema, and the user's own paths."""

import json
from pathlib import Path

import numpy as np
import pytest

from harness import datasets, settings
from harness.errors import SpecError
from harness.spec import load

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = json.loads((ROOT / "specs" / "schema" / "dataset.schema.json").read_text())


def test_the_schema_describes_every_property():
    assert SCHEMA["additionalProperties"] is False
    assert [name for name, p in SCHEMA["properties"].items() if not p.get("description")] == []


def test_the_schema_and_the_loader_know_the_same_words():
    assert SCHEMA["properties"]["name"]["enum"] == list(datasets.SPECTRA)


@pytest.mark.parametrize("block, valid", [
    ({"name": "moclip", "polarization": "y"}, True), ({"name": "gold"}, True), ({"table": "a.csv", "unit": "um"}, True),
    ({}, False), ({"name": "gold", "table": "a.csv"}, False), ({"name": "silver"}, False),
    ({"table": "a.csv", "unit": "furlong"}, False), ({"table": "a.csv", "colour": 1}, False),
])
def test_the_schema_tells_good_blocks_from_bad_ones(block, valid):
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(block) == valid


@pytest.mark.parametrize("block, message", [
    ("{name: moclib}", "dataset.name: 'moclib' is not a dataset; did you mean 'moclip'?"),
    ("{name: gold, polarisation: y}", "dataset.polarisation: unknown property; did you mean 'polarization'?"),
    ("{}", "dataset: none given; give one of 'name' and 'table'"),
    ("{name: gold, table: a.csv}", "dataset: 'name' and 'table' given; give one of 'name' and 'table'"),
    ("{table: 7}", "dataset.table: 7 is not of type string; put it in quotes"),
])
def test_a_wrong_block_says_its_line_and_what_would_be_right(tmp_path, block, message):
    text = (ROOT / "specs" / "invariance" / "gold-main.yaml").read_text()
    (tmp_path / "x.yaml").write_text(text.replace("dataset: {name: gold}", f"dataset: {block}"))
    with pytest.raises(SpecError) as error:
        load(tmp_path / "x.yaml")
    line = text.splitlines().index("dataset: {name: gold}") + 1
    assert f"x.yaml:{line}: {message}" in str(error.value)


def test_one_process_reads_a_file_once_until_it_changes(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("nm,A\n400,1\n500,2\n600,3\n")
    first = datasets.load({"table": "t.csv"}, tmp_path)
    assert datasets.load({"table": "t.csv"}, tmp_path) is first
    file.write_text("nm,A\n400,1\n500,2\n600,44\n")
    assert datasets.load({"table": "t.csv"}, tmp_path).spectra[0].response.tolist() == [1, 2, 44]


def test_loading_twice_gives_the_same_numbers():
    one = datasets.load({"name": "metasurface", "polarization": "y"}, Path())
    datasets._load.cache_clear()
    two = datasets.load({"name": "metasurface", "polarization": "y"}, Path())
    assert one is not two
    assert [s.id for s in one.spectra] == [s.id for s in two.spectra]
    np.testing.assert_array_equal([s.response for s in one.spectra], [s.response for s in two.spectra])


def test_without_a_setting_there_is_no_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ISOPROBE_GOLD", raising=False)
    assert settings.dataset_path("gold") is None


def test_the_settings_file_gives_a_path_relative_to_itself_and_the_environment_wins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ISOPROBE_GOLD", raising=False)
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).touch()
    (tmp_path / "isoprobe.yaml").write_text("datasets:\n  gold: a.csv\n")
    assert settings.dataset_path("gold") == (tmp_path / "a.csv").resolve()
    assert settings.dataset_path("moclip") is None
    monkeypatch.setenv("ISOPROBE_GOLD", str(tmp_path / "b.csv"))
    assert settings.dataset_path("gold") == (tmp_path / "b.csv").resolve()


@pytest.mark.parametrize("text, message", [
    ("datasets:\n  gold: none.csv\n", "isoprobe.yaml:2: datasets.gold: no file at"),
    ("datasets:\n  glod: a.csv\n", "isoprobe.yaml:2: datasets.glod: 'glod' has no setting; did you mean 'gold'?"),
    ("datasets:\n  gold: 7\n", "isoprobe.yaml:2: datasets.gold: 7 is not a path"),
    ("datasets: gold.csv\n", "isoprobe.yaml:1: datasets: must map a dataset name to a path"),
])
def test_a_wrong_settings_file_names_the_line(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ISOPROBE_GOLD", raising=False)
    (tmp_path / "isoprobe.yaml").write_text(text)
    with pytest.raises(SpecError) as error:
        settings.dataset_path("gold")
    assert message in str(error.value)


def test_an_environment_variable_without_its_file_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("ISOPROBE_MOCLIP", str(tmp_path / "none.npz"))
    with pytest.raises(SpecError, match=r"ISOPROBE_MOCLIP: no file at .*none.npz; give the path of the file"):
        datasets.load({"name": "moclip"}, tmp_path)
