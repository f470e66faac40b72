"""Arms and pools as declared: what is wrong is said with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.adaptation.epochs import Rule
from harness.adaptation.spec import arm_files, load_arm, load_pool
from harness.errors import SpecError

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("name", sorted(arm_files(ROOT)))
def test_every_arm_of_the_package_is_valid(name):
    assert load_arm(name, ROOT).name == name


@pytest.mark.parametrize("name,rule", [("ftC", Rule("last", 2)), ("ftCc", Rule("best", 9, 2))])
def test_the_epoch_rules_are_those_of_table_8(name, rule):
    assert load_arm(name, ROOT).rule == rule


def test_an_unknown_arm_gets_a_near_match():
    with pytest.raises(SpecError, match=r"'ftCC' is not an arm of specs/adaptation; did you mean 'ftCc'"):
        load_arm("ftCC", ROOT)


def test_an_unknown_pool_gets_a_near_match():
    with pytest.raises(SpecError, match=r"'orignal' is not a pool .* did you mean 'original'"):
        load_pool("orignal", ROOT)


@pytest.fixture
def changed(tmp_path):
    """An arm file with one text replaced by another."""
    def make(old: str, new: str) -> Path:
        text = arm_files(ROOT)["ftC"].read_text("utf-8")
        assert old in text
        path = tmp_path / "ftC.yaml"
        path.write_text(text.replace(old, new), "utf-8")
        return path
    return make


@pytest.mark.parametrize("old,new,message", [
    ("rank: 16", "rank: none", "lora.rank: 'none' is not of type integer"),
    ("keep: last", "keep: first", "'first' is not an epoch rule"),
    ("pools: [original, answerable]", "pools: [original, answrable]",
     "'answrable' is not a pool; did you mean 'answerable'"),
    ("table_um", "plot_nm", "'plot_nm' is not a view of pool 'original'"),
    ("accumulate: 8, clip: 1.0}", "accumulate: 6, clip: 1.0}\nbatch: 4",
     "batch: 4 does not divide 'accumulate', which is 6"),
    ("name: ftC\n", "name: ftX\n", "'ftX' must be the name of the file, 'ftC'"),
])
def test_a_mistake_is_named_with_its_place(changed, old, new, message):
    with pytest.raises(SpecError, match=r"ftC\.yaml:\d+: .*" + message.replace("(", r"\(").replace(".", r"\.")):
        load_arm(str(changed(old, new)), ROOT)
