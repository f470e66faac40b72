"""Counts of table 1 and appendix A, and the promise that a changed prompt or label bumps the spec's version."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from harness.build import Asked, Selection, SpectraFamily, family
from harness.cli.validate import counts
from harness.spec import load_all

ROOT = Path(__file__).parents[3]
DIGESTS = Path(__file__).parent / "digests.json"
SPECS = {s.name: s for s in load_all(ROOT) if s.family == "spectra"}


@pytest.mark.parametrize("name, expected", [
    ("metasurface-main", (192, 528, 720, 3552, 2304)),
    ("metasurface-scope", (54, 162, 162, 972, 648)),
    ("gold-main", (54, 140, 244, 1048, 664)),
    ("gold-scope", (60, 180, 180, 1080, 720)),
])
def test_counts_are_those_of_the_paper(name, expected):
    columns = ("spec", "instances", "core_variants", "variants", "requests", "requests_text_only")
    assert counts(SPECS[name]) == dict(zip(columns, (name, *expected), strict=True))


def test_variants_by_task_are_those_of_appendix_a():
    def variants(name: str) -> dict[str, int]:
        found: dict[str, set] = {}
        for key in family(SPECS[name]).keys(Selection()):
            found.setdefault(key.task, set()).add((key.instance, key.variant))
        return {task: len(v) for task, v in found.items()}

    assert (variants("metasurface-main"), variants("gold-main")) == (
        {"extreme": 96, "compare": 384, "specification": 144, "sufficiency": 96},
        {"threshold": 80, "compare": 128, "sufficiency": 36})


@pytest.mark.parametrize("name", ["metasurface-scope", "gold-scope"])
def test_deletions_of_a_scope_set_are_balanced(name):
    instances = family(SPECS[name]).instances
    kinds = [v.facts["deletion"] for _, variants in instances.values() for v in variants.values()
             if v.facts["cut"] == "inside"]
    assert {k: kinds.count(k) for k in set(kinds)} == dict.fromkeys(("long", "short", "middle"), len(instances) // 3)


def test_first_and_second_spectrum_are_right_equally_often():
    for name in ("metasurface-main", "gold-main"):
        expected = [v.expected for i, variants in family(SPECS[name]).instances.values() if i.task == "compare"
                    for v in variants.values() if v.core]
        assert expected.count("A") == expected.count("B")


def test_the_scope_set_shares_no_structure_with_the_main_set():
    assert family(SPECS["metasurface-main"]).structures & family(SPECS["metasurface-scope"]).structures == set()


def test_no_structure_is_used_twice_within_the_main_set():
    used = [s.id for i, _ in family(SPECS["metasurface-main"]).instances.values() for s in i.evidence]
    assert (len(used), len(set(used))) == (336, 336)


def digest(name: str) -> str:
    """Over everything textual that any model could receive, and every label; pixels depend on library versions."""
    built, total = SpectraFamily(SPECS[name]), hashlib.sha256()  # not the process's own, which may hold pictures
    for key in built.keys(Selection(views=("all",))):
        for readout in ("decision", "json_choice", "option_letters"):
            request = built.build(key, Asked("m", True, readout))
            content = {**request.content(), "expected": request.truth.expected}
            content["evidence"] = [p.text for p in request.evidence]
            total.update(json.dumps(content, sort_keys=True).encode())
    return total.hexdigest()


@pytest.mark.parametrize("name", sorted(SPECS))
def test_a_changed_prompt_or_label_bumps_the_version(name, monkeypatch):
    """If this fails, raise `version` in the spec and write the new digest with ISOPROBE_WRITE_DIGESTS=1."""
    if SPECS[name].dataset.get("name") in ("moclip", "gold") and any(
            os.environ.get(v) for v in ("ISOPROBE_MOCLIP", "ISOPROBE_GOLD")):
        pytest.skip("the digests are those of the embedded data; ISOPROBE_MOCLIP or ISOPROBE_GOLD is set")
    monkeypatch.setattr("harness.build.SpectraFamily._render", _text_only)
    found = {"version": SPECS[name].version, "sha256": digest(name)}
    if os.environ.get("ISOPROBE_WRITE_DIGESTS"):
        known = json.loads(DIGESTS.read_text()) if DIGESTS.exists() else {}
        DIGESTS.write_text(json.dumps({**known, name: found}, indent=1, sort_keys=True) + "\n")
    assert json.loads(DIGESTS.read_text())[name] == found


def _text_only(self, spectra, view):
    """Plots are left out: what they show is the arrays that the tables show."""
    from harness import prompts
    from harness.probe import Part
    from harness.render import renderer

    pieces = [prompts.context(self.spec), prompts.introduction(self.spec, view, len(spectra))]
    if view.has_image:
        return Part(text="\n\n".join(pieces)), ()
    table = renderer(view.kind)(spectra, ("A", "B", "C")[: len(spectra)], view)
    return Part(text="\n\n".join([*pieces, table])), ()
