"""Reading YAML: safe, with lines, every fault at once."""

from pathlib import Path

import pytest

from harness.errors import SpecError
from harness.yamlfile import MAX_VALUES, check_schema, read_yaml


def write(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "x.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def message(tmp_path: Path, text: str | bytes) -> str:
    with pytest.raises(SpecError) as caught:
        read_yaml(write(tmp_path, text), "x.yaml")
    return str(caught.value)


def test_every_value_knows_its_line(tmp_path):
    file = read_yaml(write(tmp_path, "a: 1\nb:\n  c: [1,\n    2]\n"))
    assert (file.data, file.line(("b", "c", 1)), file.line(("b", "c", 7))) == ({"a": 1, "b": {"c": [1, 2]}}, 4, 3)


def test_all_duplicate_keys_are_reported_together(tmp_path):
    assert message(tmp_path, "a: 1\na: 2\nb: {c: 1,\n  c: 2}\n") == (
        "x.yaml:2: a: duplicate key; it stands at line 1 already\n"
        "x.yaml:4: b.c: duplicate key; it stands at line 3 already")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(SpecError) as caught:
        read_yaml(tmp_path / "no.yaml", "specs/no.yaml")
    assert str(caught.value) == "specs/no.yaml: no such file"


def test_broken_yaml_names_its_line(tmp_path):
    assert message(tmp_path, "a: 1\nb: [1, 2\nc: 3\n").startswith("x.yaml:3: not valid YAML: ")


@pytest.mark.parametrize("text, said", [
    ("a:\n\tb: 1\n", "x.yaml:2: not valid YAML: found character that cannot start any token; indent with spaces"),
    ("a: 1\n\tb: 1\n", "x.yaml:2: not valid YAML: found a tab character that violates indentation; indent with spaces"),
    ("a: My: b\n", "x.yaml:1: not valid YAML: mapping values are not allowed in this context; quote text that holds ': '"),
    ("a:\n  b: 1\n c: 2\n", "x.yaml:3: not valid YAML: did not find expected key; check the indentation"),
    ("a: 1\nb:2\nc: 3\n", "x.yaml:3: not valid YAML: could not find expected ':'; a key is followed by ': '"),
    ("a: [1, 2\nb: 3\n", "x.yaml:2: not valid YAML: did not find expected ',' or ']'; close the list with ]"),
])
def test_the_usual_slips_are_told_with_their_remedy(tmp_path, text, said):
    assert message(tmp_path, text).startswith(said)


def test_text_that_is_not_utf8_is_refused(tmp_path):
    assert message(tmp_path, b"a: \xff\n") == "x.yaml: byte 3 is not UTF-8; save the file as UTF-8"


def test_python_objects_are_refused(tmp_path):
    refused = "x.yaml:1: a: the tag tag:yaml.org,2002:python/object/apply:os.system is not supported"
    assert message(tmp_path, "a: !!python/object/apply:os.system [ls]\n") == refused
    assert "could not determine a constructor" in message(tmp_path, "a: !!python/name:os.system\n")


def test_a_yaml_bomb_is_refused(tmp_path):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    assert f"more than {MAX_VALUES} values (aliases expanded)" in message(tmp_path, "\n".join(lines))


def test_deep_nesting_is_refused(tmp_path):
    assert "nest" in message(tmp_path, "[" * 5000 + "]" * 5000)


def test_merge_keys_are_refused(tmp_path):
    assert "merge keys are not supported" in message(tmp_path, "a: &a {b: 1}\nc:\n  <<: *a\n")


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(tmp_path):
    assert read_yaml(write(tmp_path, b"\xef\xbb\xbfa: 1\r\nb: x\r\n")).data == {"a": 1, "b": "x"}


def test_an_enum_violation_names_line_value_near_match_and_valid_values(tmp_path):
    schema = {"type": "object", "properties": {"unit": {"enum": ["nm", "eV"], "x-noun": "unit of the axis"}}}
    file = read_yaml(write(tmp_path, "# comment\nunit: evv\n"), "x.yaml")
    assert [str(p) for p in check_schema(file, schema)] == [
        "x.yaml:2: unit: 'evv' is not a unit of the axis; did you mean 'eV'? valid: nm, eV"]
