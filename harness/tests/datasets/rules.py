"""The rules of clean spectra that the shipped families declare."""

from pathlib import Path

from harness.datasets.clean import CleanRule
from harness.spec import load

SPECS = Path(__file__).parents[3] / "specs" / "invariance"


def declared(name: str) -> CleanRule:
    data = load(SPECS / f"{name}.yaml").data
    return CleanRule.from_mapping({**data["clean"], "extremum": data["extremum"]})


DIPS, PEAKS = declared("metasurface-main"), declared("gold-main")
