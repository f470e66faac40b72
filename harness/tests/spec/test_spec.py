"""Specs: what is declared, and what a wrong declaration is told."""

import re
from pathlib import Path

import pytest

from harness import spec
from harness.errors import SpecError

ROOT = Path(__file__).parents[3]
MAIN = ROOT / "specs" / "invariance" / "metasurface-main.yaml"


def changed(tmp_path: Path, *changes: tuple[str, str], count: int = 1) -> Path:
    text = MAIN.read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, count)
    path = tmp_path / "x.yaml"
    path.write_text(text)
    return path


def problems(path: Path) -> list[str]:
    with pytest.raises(SpecError) as caught:
        spec.load(path)
    return [re.sub(r"^.*?x\.yaml", "x.yaml", str(p)) for p in caught.value.problems]


def line_of(path: Path, text: str) -> int:
    return next(i for i, line in enumerate(path.read_text().splitlines(), 1) if text in line)


def test_every_shipped_spec_is_valid():
    names = {s.name for s in spec.load_all(ROOT)}
    assert {"metasurface-main", "metasurface-scope", "gold-main", "gold-scope", "filters-main", "filters-scope"} <= names


def test_an_unknown_unit_gets_the_near_match_and_the_valid_ones(tmp_path):
    path = changed(tmp_path, ("table_ev: {kind: csv, unit: eV", "table_ev: {kind: csv, unit: evv"))
    assert problems(path) == [
        f"x.yaml:{line_of(path, 'evv')}: views.table_ev.unit: 'evv' is not a unit of the axis; did you mean 'eV'? "
        "valid: nm, um, eV, cm^-1, THz"]


def test_several_faults_come_together_in_the_order_of_lines(tmp_path):
    path = changed(tmp_path, ("seed: 2", "seed: two"), ("readout: decision", "readout: decide"))
    assert [p.split(": ")[1] for p in problems(path)] == ["seed", "readout"]


def test_an_unknown_task_names_the_nearest_kind(tmp_path):
    path = changed(tmp_path, ("  compare:\n", "  compere:\n"))
    assert problems(path) == [
        f"x.yaml:{line_of(path, 'compere')}: tasks.compere: unknown property; did you mean 'compare'? "
        "valid: extreme, compare, specification, threshold, sufficiency, scope"]


def test_an_unknown_placeholder_names_the_nearest(tmp_path):
    path = changed(tmp_path, ("At what {axis} is the transmission lowest?", "At what {axes} is the transmission lowest?"))
    assert "minimum: {axes} is not a placeholder of extreme tasks; did you mean 'axis'?" in problems(path)[0]


def test_a_task_without_its_settings_says_which_one_it_needs(tmp_path):
    path = changed(tmp_path, ("    separation_nm: 40\n", ""))
    assert problems(path) == [
        f"x.yaml:{line_of(path, '  compare:')}: tasks.compare: 'separation_nm' is missing; compare tasks need it"]


@pytest.mark.parametrize("old, new, message", [
    ("bands_nm: [450, 605, 645, 685, 730]", "bands_nm: [450, 645, 605, 685, 730]",
     "tasks.extreme.bands_nm: boundaries must ascend, not [450, 645, 605, 685, 730]"),
    ("windows_nm: [[605, 665], [625, 685]", "windows_nm: [[605, 665], [685, 625]",
     "tasks.specification.windows_nm.1: [685, 625] must ascend"),
    ("      minimum: At what", "      minimun: At what",
     "tasks.extreme.questions.minimun: 'minimun' is not a question of extreme tasks; did you mean 'minimum'? "
     "valid: minimum, maximum"),
    ("minimum: At what {axis} is", "minimum: At what {axis is",
     "tasks.extreme.questions.minimum: placeholders: expected '}' before end of string"),
    ("range_nm: [450, 730]", "range_nm: [730, 450]", "clean.range_nm: [730, 450] must ascend"),
    ("    prefix: suff\n", "    prefix: spec\n", "tasks.sufficiency.prefix: 'spec' is the prefix of 'specification' too"),
    ("range_format: .3f, response", "range_format: d, response",
     "views.table_um.range_format: 'd' does not fit: a Python number format such as .3f"),
    ("axis_format: d, response", "axis_format: .2d, response",
     "views.table_nm.axis_format: '.2d' does not fit: a Python number format such as .3f"),
    ("readout: decision\n", "readout: decision\nexclude: [gold-man]\n",
     "exclude.0: 'gold-man' is not a spec; did you mean 'gold-main'? valid: filters-main, filters-scope, gold-main, "
     "gold-scope, gold-transmission, metasurface-interface, metasurface-main, metasurface-scope"),
    ("readout: decision\n", "readout: decision\nexclude: [x]\n",
     "exclude.0: 'x' excludes this family in turn; one of them must draw first"),
    ("readout: decision\n", "readout: decision\ninterface_views: [table_nmm]\n",
     "interface_views.0: 'table_nmm' is not a view; did you mean 'table_nm'? "
     "valid: table_nm, table_um, table_sci, table_ev, plot_nm, plot_ev, table_ev_desc"),
])
def test_what_is_wrong_in_a_task_or_a_view_is_told_with_its_place(tmp_path, monkeypatch, old, new, message):
    monkeypatch.chdir(ROOT)  # where excluded families are looked for, if they are not beside the file
    (found,) = problems(changed(tmp_path, (old, new)))
    assert message == found.split(": ", 1)[1]


def test_a_family_copied_elsewhere_still_excludes_the_shipped_one(tmp_path, monkeypatch):
    text = (MAIN.parent / "metasurface-scope.yaml").read_text()
    (tmp_path / "mine.yaml").write_text(text.replace("name: metasurface-scope", "name: mine"))
    monkeypatch.chdir(tmp_path)
    assert ("metasurface-main",) == spec.load(Path("mine.yaml")).exclude
    assert spec.excluded("metasurface-main", tmp_path / "mine.yaml").samefile(MAIN)


@pytest.mark.parametrize("old, new, message", [
    ("longer-axis: Which spectrum", "longer-axis: Within {range}, which spectrum",
     "tasks.compare.questions.longer-axis: {range} is not a placeholder of compare tasks; did you mean 'axis_longer'? "
     "valid: axis, axis_longer, axis_shorter"),
    ("the full range {range}", "the full range {range} beside {threshold}",
     "tasks.sufficiency.questions.question: {threshold} is not a placeholder of sufficiency tasks; "
     "valid: axis, axis_longer, axis_shorter, range, full_range"),
    ("option_description: Spectrum {letter}", "option_description: Spectrum {lettre}",
     "tasks.compare.option_description: {lettre} is not a placeholder of compare tasks; did you mean 'letter'? "
     "valid: letter"),
    ("At what {axis} is the transmission lowest", "At what {axis:d} is the transmission lowest",
     "tasks.extreme.questions.minimum: placeholders: Unknown format code 'd' for object of type 'str'"),
])
def test_a_placeholder_that_the_task_does_not_fill_is_told_with_those_that_it_does(tmp_path, old, new, message):
    (found,) = problems(changed(tmp_path, (old, new)))
    assert message == found.split(": ", 1)[1]


@pytest.mark.parametrize("old, new, message", [
    ('longer: "{axis_longer}"', 'longer: "{axis_longr}"',
     "tasks.threshold.options.axis.longer: {axis_longr} is not a placeholder of threshold tasks; "
     "did you mean 'axis_longer'? valid: axis, axis_longer, axis_shorter, threshold, threshold_wavelength"),
    ("      axis: {shorter", "      energy: {shorter",
     "tasks.threshold.options.energy: 'energy' is not a wording; valid: wavelength, axis"),
    ('      axis: {shorter: "{axis_shorter}", longer: "{axis_longer}"}\n', "",
     "tasks.threshold.options: 'axis' is missing: its labels of the shorter and the longer side"),
])
def test_labels_of_sides_are_checked_as_questions_are(tmp_path, old, new, message):
    text = (MAIN.parent / "gold-main.yaml").read_text()
    assert old in text
    (tmp_path / "x.yaml").write_text(text.replace(old, new))
    assert message in [p.split(": ", 1)[1] for p in problems(tmp_path / "x.yaml")]


def test_a_sufficiency_task_without_its_answers_says_the_two_ways_to_give_them(tmp_path):
    rest = "    margin_nm: 15\n    cut_half_width_nm"
    path = changed(tmp_path, ("    bands_nm: [450, 605, 645, 685, 730]\n" + rest, rest))
    (found,) = problems(path)
    assert "tasks.sufficiency: either 'bands_nm' or both 'thresholds_nm' and 'options' must say what is asked" in found


def test_faults_of_several_files_come_together_and_a_name_is_used_once(tmp_path):
    for folder in ("a", "b", "c"):
        (tmp_path / folder).mkdir()
    good, again = changed(tmp_path / "a"), changed(tmp_path / "b")
    bad = changed(tmp_path / "c", ("seed: 2", "seed: two"))
    with pytest.raises(SpecError) as caught:
        spec.load_all(ROOT, [str(good), str(again), str(bad)])
    assert [("seed", str(bad)), ("name", str(again))] == [(p.path, p.file) for p in caught.value.problems]
    assert caught.value.problems[1].message == f"'metasurface-main' is the name of {good} too"


def test_a_list_is_no_spec(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("- a\n")
    assert ["x.yaml: a probe family is a mapping; see specs/README.md"] == problems(path)


def test_an_unknown_dataset_property_is_named_with_its_line(tmp_path):
    path = changed(tmp_path, ("polarization: y}", "polarisation: y}"))
    (found,) = problems(path)
    assert found.startswith(f"x.yaml:{line_of(path, 'polarisation')}: dataset.polarisation: unknown property; "
                            "did you mean 'polarization'?")


def test_an_unknown_spec_name_gets_the_near_match():
    with pytest.raises(SpecError, match="--spec: 'gold-mian' is not a spec; did you mean 'gold-main'"):
        spec.load_all(ROOT, ["gold-mian"])


def test_the_hash_of_a_spec_follows_its_content(tmp_path):
    same = changed(tmp_path, ("# Optical-spectra paper", "# Another comment"))
    assert spec.load(same).sha256 == spec.load(MAIN).sha256
    assert spec.load(changed(tmp_path, ("seed: 2", "seed: 4"))).sha256 != spec.load(MAIN).sha256


def test_every_property_of_the_schema_has_a_description():
    def bare(node, path=""):
        if isinstance(node, dict):
            for name, child in node.get("properties", {}).items():
                if "description" not in child and "$ref" not in child:
                    yield f"{path}.{name}"
                yield from bare(child, f"{path}.{name}")
            for key in ("items", "additionalProperties", "$defs"):
                inner = node.get(key)
                for child in inner.values() if key == "$defs" and inner else [inner]:
                    yield from bare(child, path)

    schemas = sorted((ROOT / "specs" / "schema").glob("*.json"))
    assert {p.name: list(bare(spec.schema(p.name.removesuffix(".schema.json")))) for p in schemas} == {
        p.name: [] for p in schemas}
