"""Requests of appendix B of the optical-spectra paper, byte for byte, on spectra with the values printed there.

The golden files hold the paper's text with its wrapped lines joined; rows that the paper leaves out ("... 25 more rows")
are round numbers.
"""

from pathlib import Path

import numpy as np
import pytest

from harness import spec
from harness.build import Asked, SpectraFamily
from harness.probe import Instance, RequestKey
from harness.spectrum import SpectraSet, Spectrum
from harness.tasks import task as task_of

ROOT = Path(__file__).parents[3]
GOLDEN = Path(__file__).parent / "golden"
NM = np.arange(450.0, 731.0, 10.0)


def spectrum(name: str, values: dict[int, float], otherwise: float, polarization: str) -> Spectrum:
    response = np.array([values.get(int(nm), otherwise) for nm in NM])
    return Spectrum(name, NM, response, "transmission", polarization)


def family(name: str, instance: Instance) -> SpectraFamily:
    """The family of a shipped spec with one instance of given evidence instead of its drawn ones."""
    made = SpectraFamily(spec.load(ROOT / "specs" / "invariance" / f"{name}.yaml"))
    declared = made.spec.task(instance.task)
    planned = dict(made.plan(declared))[instance.id]
    labelled = task_of(instance.task).label(declared, instance, planned)
    made.__dict__["instances"] = {instance.id: (instance, {v.id: v for v in labelled})}
    made.__dict__["data"] = SpectraSet("given", "measured", "", "", "transmission", instance.evidence, "")
    return made


@pytest.fixture
def compare() -> SpectraFamily:
    a = spectrum("a", {730: 0.494, 720: 0.451, 710: 0.421, 700: 0.367, 550: 0.100}, 0.600, "y")
    b = spectrum("b", {730: 0.296, 720: 0.230, 710: 0.155, 700: 0.095}, 0.700, "y")
    return family("metasurface-main", Instance("compare-000", "given", "compare", "compare-000", (a, b),
                                               {"nm": (550.0, 700.0)}))


@pytest.fixture
def scope() -> SpectraFamily:
    s = spectrum("s", {450: 0.410, 460: 0.463, 470: 0.495, 480: 0.526, 630: 0.050}, 0.700, "x")
    return family("metasurface-scope", Instance("suffq-009", "given", "scope", "s", (s,), {
        "nm": 630.0, "span": (450.0, 685.0), "threshold_nm": None, "remove": (610.0, 650.0), "decoy_nm": 450.0}))


def text(made: SpectraFamily, key: str, readout: str = "") -> str:
    task, instance, variant, view = key.split("/")
    request = made.build(RequestKey(made.spec.name, task, instance, variant, view, "plain", 0, "m"),
                         Asked("m", True, readout))
    return request.text + "\n"


@pytest.mark.parametrize("question", ["longer-wavelength", "longer-axis"])
def test_compare_on_an_ev_table_reads_as_in_appendix_b(compare, question):
    expected = (GOLDEN / f"compare-000-orig-{question}.table_ev.txt").read_text()
    assert text(compare, f"compare/compare-000/orig-{question}/table_ev") == expected


def test_a_scope_question_after_an_inside_cut_reads_as_in_appendix_b(scope):
    expected = (GOLDEN / "suffq-009-cut_in_hide_middle.table_nm.txt").read_text()
    assert text(scope, "scope/suffq-009/cut_in_hide_middle/table_nm") == expected


@pytest.mark.parametrize("readout", ["json_choice", "option_letters"])
def test_the_interface_wrappers_read_as_in_appendix_b(scope, readout):
    expected = (GOLDEN / f"suffq-009-cut_in_hide_middle.table_nm.{readout}.txt").read_text()
    assert text(scope, "scope/suffq-009/cut_in_hide_middle/table_nm", readout) == expected


def test_a_decision_interface_gets_state_instructions_and_a_label_map(scope):
    request = scope.build(RequestKey("metasurface-scope", "scope", "suffq-009", "cut_in_hide_middle", "table_nm", "plain",
                                     0, "m"), Asked("m"))
    state = (GOLDEN / "suffq-009-cut_in_hide_middle.table_nm.txt").read_text().split("\n\nQuestion: ")[0]
    assert (request.evidence_text, request.question[:34], [(o.label, o.description) for o in request.options[-2:]]) == (
        state, "Considering only the range 450-685", [
            ("685-730 nm", ""), ("cannot be determined", "The data provided are not enough to answer.")])


def test_ranges_follow_the_unit_of_the_view_while_keys_stay(scope):
    key = RequestKey("metasurface-scope", "scope", "suffq-009", "full", "table_ev", "plain", 0, "m")
    request = scope.build(key, Asked("m"))
    assert [(o.key, o.label) for o in request.options[:2]] == [("450-605", "2.049-2.755 eV"), ("605-645", "1.922-2.049 eV")]
    assert "Considering only the range 1.810-2.755 eV, at what photon energy is" in request.question
