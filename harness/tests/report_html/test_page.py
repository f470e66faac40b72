from __future__ import annotations

import base64
import hashlib
import json
import re

import pytest

from harness.report import evidence, explorer, svg
from harness.report.decisions import profile
from harness.report.publish import publish
from harness.report.recorded import load
from harness.tests.report_html import runs
from harness.tests.validity.synthetic import row


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    runs.recorded(folder, {"good": runs.right, "ev-blind": runs.wrong_in("table_ev")}, reply="I say so.")
    found = load(folder)
    gates = {"ci": [{"name": "right", "metric": "accuracy", "at_least": 90}]}
    publish(folder, found.outcomes, found.run, profile(gates, "ci"), found.notes)
    return folder


@pytest.fixture(scope="module")
def page(folder) -> str:
    return (folder / "report.html").read_text("utf-8")


def island(page: str) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])


def test_the_folder_holds_the_report_in_every_form(folder):
    names = {p.name for p in folder.iterdir()}
    assert {
        "report.md",
        "report.html",
        "junit.xml",
        "tables",
        "figures",
        "requests.jsonl",
        "replies.jsonl",
        "images",
    } <= names


def test_the_page_asks_for_nothing_outside_itself(page):
    assert re.findall(r'(?:src|href)="(?!#|data:|tables/|figures/|report\.md)[^"]*"', page) == []


def test_the_policy_names_the_only_style_sheet_and_the_only_script(page):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1].replace("&#39;", "'")
    for tag in ("style", "script"):
        body = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.S)[1]
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_nothing_in_the_page_needs_an_inline_style_or_handler(page):
    markup = re.sub(r"<(style|script)[ >].*?</\1>", "", page, flags=re.S)
    assert re.findall(r"<[^>]* (?:style|on\w+)=", markup) == []


def test_the_page_says_simulated(page):
    assert "simulated data" in page


def test_the_explorer_holds_what_each_model_was_asked_and_said(page):
    data = island(page)
    first = data["requests"][data["request"][0]]
    assert "Question:" in data["texts"][first["p"]]
    assert data["more"][0]["reply"] == ["I say so."]


def test_each_picture_and_each_text_is_in_the_page_once(page, folder):
    data = island(page)
    assert len(data["texts"]) == len(set(data["texts"]))
    assert page.count('id="img-') == len(list((folder / "images").iterdir()))


def test_an_expected_answer_is_derived_from_the_table_shown(page):
    assert any("were removed, and with them that point" in text for text in island(page)["derived"]["of"])


def test_the_same_folder_gives_the_same_bytes(folder):
    before = {p.name: p.read_bytes() for p in (*folder.glob("report.html"), *folder.glob("figures/*"))}
    found = load(folder)
    publish(
        folder,
        found.outcomes,
        found.run,
        profile({"ci": [{"name": "right", "metric": "accuracy", "at_least": 90}]}, "ci"),
        found.notes,
    )
    assert {p.name: p.read_bytes() for p in (*folder.glob("report.html"), *folder.glob("figures/*"))} == before


def test_a_run_without_kept_evidence_still_has_an_explorer(tmp_path):
    publish(tmp_path, [row(), row(view="table_ev", choice="B")], {**runs.RUN})
    data = island((tmp_path / "report.html").read_text("utf-8"))
    assert (data["n"], data["request"]) == (2, [-1, -1])


def test_data_in_the_page_cannot_end_its_script():
    text = explorer.island({"a": "</script><script>x()</script>\u2028<!--"})
    assert "<" not in text
    assert "\u2028" not in text
    assert json.loads(text) == {"a": "</script><script>x()</script>\u2028<!--"}


def test_pictures_that_do_not_fit_are_recompressed_without_loss_before_anything_is_given_up(tmp_path):
    runs.recorded(tmp_path, {"m": runs.right}, limit=1, views=("plot_nm",))
    kept = evidence.read(tmp_path)
    size = sum(p.stat().st_size for p in kept.images.values())
    made = explorer.pictures(kept.images, kept.images, size - 1)
    assert all(p.exact and p.media_type == "image/webp" for p in made)
    assert not any(p.exact for p in explorer.pictures(kept.images, kept.images, size // 10))


def test_a_missing_picture_leaves_a_gap(tmp_path):
    assert explorer.pictures(["ab"], {}, 1000) == [None]


def test_a_figure_in_the_page_keeps_its_drawing_and_loses_everything_else():
    source = (
        b'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        b'width="72pt" height="36pt">'
        b'<style>*{}</style><script>x()</script><g id="a" onclick="x()"><path d="M0 0" style="fill: #1b2027"/>'
        b'<use xlink:href="#a"/><use xlink:href="http://x/y"/><text style="font: bold 7px Sans">t</text></g></svg>'
    )
    made = svg.inline(source, "f", "what")
    assert made == (
        '<svg width="96" height="48" role="img" aria-label="what"><g id="f-a"><path d="M0 0" fill="#1b2027" />'
        '<use href="#f-a" /><use /><text font-size="7" font-weight="bold">t</text></g></svg>'
    )
