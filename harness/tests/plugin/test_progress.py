"""The line now and then on a long run."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from harness.plugin import progress


class Terminal:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def ensure_newline(self) -> None:
        pass

    def write_line(self, line: str) -> None:
        self.lines.append(line)


@pytest.fixture
def clock(monkeypatch):
    """Seconds since the run began, set by the test."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock.now)
    return clock


def of(total: int, terminal: Terminal | None) -> progress.Progress:
    plugins = SimpleNamespace(get_plugin=lambda name: terminal)
    return progress.Progress(SimpleNamespace(pluginmanager=plugins), total)


def test_a_line_says_how_far_a_run_is_what_went_wrong_what_it_cost_and_how_long_it_takes_yet(clock):
    terminal = Terminal()
    seen = of(3_000, terminal)
    for second in range(1, 21):
        clock.now = float(second)
        seen.saw("unparsed" if second == 3 else "right", 4 if second == 5 else 1, 60, 0.001)
    assert ["15 of 3,000 requests, 1.0 a second, 3 retries, 1 unusable replies, 900 tokens, $0.015 so far, "
            "about $3.000 in all, 49 min 45 s left"] == terminal.lines


def test_a_run_of_stored_replies_without_trouble_has_a_short_line(clock):
    terminal = Terminal()
    seen = of(100, terminal)
    clock.now = 20.0
    seen.saw("wrong", 1, 0, 0.0)
    assert ["1 of 100 requests, 0.1 a second, 33 min 0 s left"] == terminal.lines


def test_speed_and_cost_of_what_is_left_are_those_of_late_not_of_the_stored_replies_that_came_first(clock):
    terminal = Terminal()
    seen = of(1_000, terminal)
    for at in range(600):  # stored: sixty a second
        clock.now = at / 60
        seen.saw("right", 1, 0, 0.0)
    for at in range(12, 100, 2):  # asked: one in two seconds
        clock.now = float(at)
        seen.saw("right", 1, 60, 0.01)
    assert "643 of 1,000 requests, 0.5 a second, 2,580 tokens, $0.430 so far, about $4.000 in all, 11 min 54 s left" \
        == terminal.lines[-1]


def test_a_session_without_a_terminal_is_told_nothing(clock):
    seen = of(100, None)
    clock.now = 20.0
    seen.saw("right", 1, 0, 0.0)
    assert 1 == seen.done


def test_a_line_says_what_is_waited_for_when_nothing_finishes_and_comes_less_often_the_longer_it_takes(clock):
    seen = progress.Progress(SimpleNamespace(pluginmanager=SimpleNamespace(get_plugin=lambda name: None)), 100,
                             lambda: "luna: 429; again in 840.0 s")
    lines = {}
    for second in range(1, 200):
        if line := seen.quiet(float(second)):
            lines[second] = line
    said = "; luna: 429; again in 840.0 s"
    assert {30: f"nothing finished for 30 s{said}", 60: f"nothing finished for 60 s{said}",
            120: f"nothing finished for 120 s{said}"} == lines
    clock.now = 200.0
    seen.saw("right", 1, 0, 0.0)
    assert ["", f"nothing finished for 30 s{said}"] == [seen.quiet(229.0), seen.quiet(230.0)]


def test_nothing_is_said_to_be_waited_for_when_everything_is_done(clock):
    seen = of(1, None)
    seen.saw("right", 1, 0, 0.0)
    assert "" == seen.quiet(1000.0)
