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
    with pytest.raises(DataError, match=r"x\.yaml:\d+: tasks\.extreme: .* needs 6 instances, the data fill 0"):
        _ = banded(tmp_path, "bands_nm: [300, 740, 800]").instances


def gold(folder: Path, old: str, new: str):
    text = (MAIN.parent / "gold-main.yaml").read_text()
    assert old in text
    (folder / "x.yaml").write_text(text.replace(old, new))
    return family(load(folder / "x.yaml"))


@pytest.mark.parametrize("old, new, message", [
    ("thresholds_nm: [542.5]", "thresholds_nm: [0.5425]",
     "x.yaml:54: tasks.sufficiency.thresholds_nm.0: 0.5425 nm lies outside the spectra, which run from 450 to 800 nm; "
     "give nm, whatever the unit of a table"),
    ("range_nm: [450, 800]", "range_nm: [0.45, 0.8]",
     "x.yaml:10: clean: range_nm: 0 samples of spectrum"),
])
def test_wavelengths_in_another_unit_are_told_with_their_line(tmp_path, old, new, message):
    with pytest.raises(DataError) as error:
        _ = gold(tmp_path, old, new).instances
    assert message in str(error.value)
