from __future__ import annotations

import pytest

from harness.outcome import Estimate
from harness.report.text import instances, markdown, plain, show, spreadsheet


@pytest.mark.parametrize(
    "hostile, harmless",
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("a\nb\r\n\tc", "a b c"),
        ("a\x00b\x08c\x9bd", "abcd"),
        ("left\u202eright\u200b", "leftright"),
        ("\ud800lone", "lone"),
        ("https://user:secret@host/x", "https://host/x"),
        ("x" * 400, "x" * 299 + "…"),
    ],
)
def test_plain_text_is_one_line_that_no_terminal_obeys(hostile, harmless):
    assert plain(hostile) == harmless


@pytest.mark.parametrize(
    "hostile, harmless",
    [
        ("a|b", "a\\|b"),
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("[x](javascript:y)", "\\[x\\](javascript:y)"),
        ("`code` **bold**", "\\`code\\` \\*\\*bold\\*\\*"),
        ("# heading", "\\# heading"),
        ("- item", "\\- item"),
        ("a\\|b", "a\\\\\\|b"),
        ("&amp;", "&amp;amp;"),
    ],
)
def test_nothing_in_a_text_is_markup(hostile, harmless):
    assert markdown(hostile) == harmless


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x"])
def test_no_cell_starts_a_formula(text):
    assert spreadsheet(text) == "'" + text


@pytest.mark.parametrize(
    "value, shown",
    [
        (None, "—"),
        (Estimate(None, None, 0, 0), "—"),
        (Estimate(56.25, (52.04, 60.46), 48, 192), "56.2 [52.0, 60.5]"),
        (Estimate(-3.21, (-6.0, 0.04), 48, 192, "points"), "-3.2 [-6.0, +0.0]"),
        (Estimate(-0.04, (-0.04, 1.0), 48, 192, "points"), "+0.0 [+0.0, +1.0]"),
        (Estimate(0.5, (0.4, 0.6), 48, 192, "score"), "0.500 [0.400, 0.600]"),
        (Estimate(50.0, None, 1, 4), "50.0 [—]"),
        (Estimate(50.0, (20.0, 80.0), 9, 9), "50.0 [20.0, 80.0]†"),
        (Estimate(50.0, (20.0, 80.0), 60, 60, n_units=9), "50.0 [20.0, 80.0]†"),
        (Estimate(100.0, (100.0, 100.0), 48, 48), "100.0 [100.0, 100.0]°"),
        (12345, "12,345"),
        (0.00123, "0.00123"),
    ],
)
def test_numbers_as_a_reader_wants_them(value, shown):
    assert show(value) == shown


@pytest.mark.parametrize(
    "n, n_units, said", [(1, 1, "1 instance"), (1200, 1200, "1,200 instances"), (60, 3, "60 instances in 3 clusters"),
                         (60, 1, "60 instances in 1 cluster")]
)
def test_clusters_are_told_where_they_are_fewer_than_instances(n, n_units, said):
    assert instances(n, n_units) == said
