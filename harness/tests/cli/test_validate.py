"""isoprobe validate: what it refuses before a model is asked."""

from pathlib import Path

import pytest

from harness.cli import main

GOLD = Path(__file__).parents[3] / "specs" / "invariance" / "gold-main.yaml"


def copied(folder: Path, old: str, new: str) -> str:
    text = GOLD.read_text()
    assert old in text
    (folder / "x.yaml").write_text(text.replace(old, new))
    return str(folder / "x.yaml")


def test_a_table_that_no_report_has_is_named_with_its_line(tmp_path, capsys):
    file = copied(tmp_path, "readout: decision\n", "readout: decision\ntables:\n  - accuracy_by_tsk\n")
    line = Path(file).read_text().splitlines().index("  - accuracy_by_tsk") + 1
    assert main(["validate", file]) == 2
    assert f"x.yaml:{line}: tables.0: 'accuracy_by_tsk' is not a table; did you mean 'accuracy_by_task'?" in (
        capsys.readouterr().err)


@pytest.mark.parametrize("limit", ["0", "-3", "two"])
def test_a_limit_that_leaves_nothing_to_check_is_refused(limit, capsys):
    with pytest.raises(SystemExit):
        main(["validate", "--deep", f"--limit={limit}", "gold-main"])
    assert f"argument --limit: {limit!r} is not a count; give 1 or more" in capsys.readouterr().err


def test_two_options_that_read_the_same_are_an_error_when_shown(tmp_path, capsys):
    main_set = GOLD.with_name("metasurface-main.yaml").read_text()
    (tmp_path / "x.yaml").write_text(main_set.replace("bands_nm: [450, 605, 645", "bands_nm: [450, 604.6, 604.8, 605, 645"))
    assert main(["show", "extreme-000-minimum", "table_um", "--spec", str(tmp_path / "x.yaml")]) == 2
    said = "view table_um: two options of extreme tasks are both '0.605-0.605 um'; declare a range_format with more digits"
    assert said in capsys.readouterr().err
