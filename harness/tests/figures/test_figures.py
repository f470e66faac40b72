from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import replace

import pytest
from PIL import Image

from harness.bootstrap import Resamples
from harness.outcome import Estimate, Table
from harness.report.document import Document, build
from harness.report.figures import FIGURES
from harness.report.figures.draw import write
from harness.report.figures.style import COLOURS, MARKERS, Look, context, short
from harness.rows import Rows
from harness.tests.validity.synthetic import answered, oracle, right_with, row

RUN = {"id": "r", "seed": 1, "resamples": 60, "specs": {}, "models": {}}


def drawn(tables: list[Table], outcomes=None, names=FIGURES) -> dict[str, bytes]:
    rows = Rows.of(outcomes or [row()])
    return write(Document(RUN, rows, Resamples.draw(rows, 20), tuple(tables), (), ()), names)


def estimate(value: float, low: float, high: float, unit: str = "%") -> Estimate:
    return Estimate(value, (low, high), 20, 40, unit)


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    outcomes = answered(right_with(0.7), n=4) + answered(oracle, n=4, model="oracle")
    outcomes += [
        replace(o, wording="energy", core=False, variant=f"{o.variant}-e", key=o.key.replace("/orig", "/e"))
        for o in outcomes
        if o.task == "compare" and o.unit == "eV"
    ]
    return write(build([replace(o, cost_usd=0.001, tokens_in=300) for o in outcomes], RUN))


def test_a_run_gives_its_figures_as_png_and_svg(files):
    names = {n.rsplit("/", 1)[1].rsplit(".", 1)[0] for n in files}
    assert {
        "accuracy_by_task",
        "compare_by_view",
        "compare_by_arm",
        "paired_effects",
        "agreement",
        "flips",
        "attrition",
        "cost_and_accuracy",
    } <= names
    assert {n.rsplit(".", 1)[1] for n in files} == {"png", "svg"}


def test_the_legend_names_lines_that_only_a_later_panel_shows():
    columns = ("spec", "task", "view", "model", "wavelength wording, %", "energy wording, %")
    both = estimate(60, 50, 70), estimate(40, 30, 50)
    lines = ("a", "compare", "table_ev", "first", *both), ("b", "compare", "table_ev", "later", *both)
    svg = drawn([Table("wording", "T", columns, lines)], names=["wording"])["figures/wording.svg"].decode()
    assert [svg.count(f">{name}</text>") for name in ("first", "later")] == [1, 1]


def test_every_png_is_sharp_enough_for_print_and_no_wider_than_a_page(files):
    for name, data in files.items():
        if name.endswith(".png"):
            image = Image.open(io.BytesIO(data))
            assert image.info["dpi"][0] == pytest.approx(200, abs=1)
            assert image.width <= 7.3 * 200, name


def test_svg_keeps_text_as_text(files):
    svg = files["figures/paired_effects.svg"].decode()
    assert ">oracle</text>" in svg


def test_figures_have_the_same_bytes_in_every_process():
    script = (
        "import hashlib, sys\n"
        "from harness.report.document import build\nfrom harness.report.figures.draw import write\n"
        "from harness.tests.validity.synthetic import answered, right_with\n"
        "made = write(build(answered(right_with(0.7), n=2), {'id': 'r', 'seed': 1, 'resamples': 40}), "
        "['paired_effects', 'compare_by_view'])\n"
        "print([(n, hashlib.sha256(d).hexdigest()) for n, d in sorted(made.items())])"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "PATH": "", "HOME": "/nonexistent"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(said) == 1


def test_a_table_without_data_gives_no_figure():
    assert drawn([]) == {}


def prospective() -> Table:
    return Table(
        "prospective",
        "t",
        ("spec", "model", "given", "predicted", "executed"),
        (
            ("panels", "m", "text", estimate(20, 10, 30), estimate(40, 30, 50)),
            ("panels", "m", "image", Estimate(None, None, 0, 0), estimate(40, 30, 50)),
        ),
    )


def test_predicted_and_executed_change_are_drawn_where_both_exist():
    assert "figures/predicted_and_executed.svg" in drawn([prospective()])


def test_precision_and_recall_stand_with_the_precision_of_chance():
    table = Table(
        "sufficiency_flag",
        "t",
        ("spec", "model", "given", "precision", "recall", "precision by chance"),
        (("panels", "m", "text", estimate(60, 40, 80), estimate(30, 20, 40), 45.0),),
    )
    svg = drawn([table])["figures/insufficiency.svg"].decode()
    assert all(word in svg for word in ("precision", "recall", "precision by chance"))


def test_annotation_alignment_and_attribution_are_drawn():
    cells = (estimate(60, 40, 80), estimate(30, 20, 40))
    files = drawn(
        [
            Table("alignment", "t", ("spec", "model", "stated", "executed"), (("g", "m", *cells),)),
            Table(
                "attribution",
                "t",
                ("spec", "model", "attribution", "stated", "executed"),
                (("g", "m", "text alone", *cells),),
            ),
        ]
    )
    assert {"figures/alignment.png", "figures/attribution.png"} <= set(files)


def test_the_scope_plane_shows_the_ideal_point():
    table = Table(
        "scope",
        "t",
        ("spec", "template", "model", "modality", "D_scope, points", "Delta_out, points"),
        (("s", "plain", "m", "table", estimate(60, 40, 80, "points"), estimate(-5, -10, 0, "points")),),
    )
    assert ">ideal</text>" in drawn([table])["figures/scope_plane.svg"].decode()


def test_a_reliability_diagram_names_the_calibration_error():
    outcomes = [
        row(
            instance=f"i{k}",
            choice="AB"[k % 2],
            probabilities={"A": 0.9, "B": 0.1} if k % 2 == 0 else {"A": 0.1, "B": 0.9},
            confidence=0.9,
            probability_kind="readout",
        )
        for k in range(12)
    ]
    svg = write(build(outcomes, RUN), ["reliability"])["figures/reliability.svg"].decode()
    assert "ECE 40.0" in svg


def test_names_cannot_start_a_formula_and_are_cut():
    assert short("a$b$" + "x" * 50, 10) == r"a\$b\$xxxxx…"


def test_a_hostile_model_name_is_text_in_the_figure():
    name = "<script>x</script>$\\frac{"
    svg = write(
        build([replace(o, model=name) for o in answered(right_with(0.5), n=2, model="m")], RUN), ["compare_by_view"]
    )["figures/compare_by_view.svg"].decode()
    assert "<script" not in svg


def test_sixteen_models_have_looks_of_their_own():
    look = Look([f"m{i}" for i in range(16)])
    assert len({(look.colour(f"m{i}"), look.marker(f"m{i}")) for i in range(16)}) == 16


def test_neighbouring_colours_differ_to_the_colour_blind():
    """Deuteranopes see colours as blends of a red-green mean and blue; lightness or blue must tell each two apart."""

    def seen(colour: str) -> tuple[float, float]:
        r, g, b = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        return 0.625 * r + 0.375 * g + 0.1 * b, b

    first = [seen(c) for c in COLOURS[:6]]
    gaps = [abs(a[0] - b[0]) + abs(a[1] - b[1]) for i, a in enumerate(first) for b in first[i + 1 :]]
    assert min(gaps) > 0.1
    assert len(MARKERS) == len(COLOURS)


def test_the_reader_s_own_settings_of_matplotlib_do_not_matter():
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 30}), context():
        assert mpl.rcParams["font.size"] == 7
