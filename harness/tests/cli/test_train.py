"""``isoprobe train`` as far as it trains nothing: which arms there are, what they would take, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli import main

ROOT = Path(__file__).parents[3]
SPECS = ROOT / "specs" / "adaptation"
ARMS = {p.stem for p in (*SPECS.glob("*.yaml"), *SPECS.glob("cpu/*.yaml"))}


@pytest.fixture(autouse=True)
def at_the_top(monkeypatch):
    monkeypatch.chdir(ROOT)


def test_without_an_arm_it_lists_the_arms_and_how_to_train_one(capsys):
    assert 0 == main(["train"])
    first, second = capsys.readouterr().out.splitlines()
    assert (ARMS, "train one with: isoprobe train ARM --seed 0") == (set(first.removeprefix("arms: ").split(", ")), second)


def test_the_plan_counts_the_requests_of_an_arm_and_shows_its_rule(capsys):
    assert 0 == main(["train", "cpu-ftC", "--plan"])
    head, _, row = capsys.readouterr().out.splitlines()
    assert ["arm", "base", "tables", "train", "dev", "shared", "structures", "epochs", "seeds"] == head.split()
    assert ["cpu-ftC", "pico"] == row.split()[:2]


def test_an_unknown_arm_is_one_line_with_the_near_match(capsys):
    assert 2 == main(["train", "cpu-ftc"])
    (line,) = capsys.readouterr().err.splitlines()
    assert "did you mean 'cpu-ftC'" in line
