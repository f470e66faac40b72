"""Every arm of the modality suites through a real server: random weights write rubbish, and the report must say so."""

import csv
from collections import Counter

import pytest

from harness.tests.plugin.session import SUFFICIENCY, session
from harness.tests.vllm.served import TINY, entry, folder

SUITES = ("parity", "maxflow", "panels", "goldenview")


@pytest.fixture(scope="module")
def arms(tmp_path_factory):
    model = entry(TINY, "json_choice", "--limit-mm-per-prompt", '{"image": 6}', "--max-model-len", "8192",
                  sampling={"max_tokens": 48}) | {"modalities": ["text", "image"]}
    path = folder(tmp_path_factory.mktemp("arms") / "p", {"eyes": model})
    (path / "test_it.py").write_text(SUFFICIENCY)
    specs = [f"--spec={name}" for name in SUITES]
    return session(path, *specs, "--limit", "2", "--model", "eyes", timeout=1200)


def test_every_request_of_every_arm_is_answered_and_counted(arms):
    assert arms.status == 0, arms.text
    per_spec = Counter(row["spec"] for row in arms.rows().values())
    assert per_spec == dict.fromkeys(SUITES, 12)


def test_rubbish_is_truncated_or_unparsed_and_never_an_answer(arms):
    rows = list(arms.rows().values())
    assert {row["status"] for row in rows} <= {"truncated", "unparsed", "usable"}
    assert {(row["choice"], row["correct"]) for row in rows if row["status"] != "usable"} == {(None, None)}


def test_the_images_reach_the_model(arms):
    tokens = {(row["spec"], row["instance"], row["view"], row["template"]): row["tokens_in"] for row in arms.rows().values()}
    with_image = [n - tokens[spec, instance, "text", template] for (spec, instance, view, template), n in tokens.items()
                  if (view, template) == ("both", "plain") and (spec, instance, "text", template) in tokens]
    assert min(with_image) > 50


def column(arms, name: str, wanted: str) -> dict[tuple[str, str], list[float]]:
    """(spec, template) -> values of one column of one table."""
    found: dict[tuple[str, str], list[float]] = {}
    with (arms.run() / "tables" / f"{name}.csv").open() as file:
        for row in csv.DictReader(file):
            if row["column"] == wanted:
                found.setdefault((row["spec"], row["template"]), []).append(float(row["value"]))
    return found


def test_the_report_says_where_the_rows_went(arms):
    lost = Counter((row["spec"], row["template"], row["status"]) for row in arms.rows().values())
    attempted = Counter((row["spec"], row["template"]) for row in arms.rows().values())
    assert column(arms, "row_losses", "attempted") == {k: [n] for k, n in attempted.items()}
    assert column(arms, "row_losses", "truncated") == {
        k: [pytest.approx(100 * lost[(*k, "truncated")] / n, abs=0.06)] for k, n in attempted.items()}


def test_an_arm_without_a_usable_row_is_said_to_have_none(arms):
    usable = {(row["spec"], row["template"]) for row in arms.rows().values() if row["status"] == "usable"}
    shares = column(arms, "usable_rows", "usable")
    assert {k for k, values in shares.items() if max(values) > 0} == usable
