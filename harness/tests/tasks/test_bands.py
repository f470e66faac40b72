"""Bands that do not fit the data: narrower than them, or one that holds them all."""

from pathlib import Path

import pytest

from harness.build import family
from harness.errors import DataError
from harness.spec import load

MAIN = Path(__file__).parents[3] / "specs" / "invariance" / "metasurface-main.yaml"
BANDS = "bands_nm: [450, 605, 645, 685, 730]"


def banded(folder: Path, bands: str):
    text = MAIN.read_text()
    assert BANDS in text
    (folder / "x.yaml").write_text(text.replace(BANDS, bands).replace("instances: 48", "instances: 6"))
    return family(load(folder / "x.yaml"))


def test_an_extremum_that_a_cut_leaves_outside_all_bands_is_no_decoy(tmp_path):
    made = banded(tmp_path, "bands_nm: [580, 605, 645, 685, 700]")
    hidden = [v for name, (_, by_id) in made.instances.items() if name.startswith("suff-")
              for v in by_id.values() if v.facts["cut"] == "inside"]
    offered = {"580-605", "605-645", "645-685", "685-700"}
    assert {""} == {v.facts["decoy"] for v in hidden} - offered
    assert {v.expected for v in hidden} == {"undetermined"}


def test_a_band_that_holds_all_data_leaves_nothing_to_ask_and_is_told_so(tmp_path):
    with pytest.raises(DataError, match="task 'extreme' needs 6 instances, the data fill 0"):
        _ = banded(tmp_path, "bands_nm: [300, 740, 800]").instances
