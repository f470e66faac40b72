"""The two epoch rules of table 8, on recorded curves."""

from __future__ import annotations

import pytest

from harness.adaptation.epochs import Point, Rule, best, finished, kept

TWO = Rule("last", 2)
SELECTED = Rule("best", 9, 2)


def curve(*pairs: tuple[float, float]) -> list[Point]:
    return [Point(i, accuracy, loss) for i, (accuracy, loss) in enumerate(pairs, 1)]


def test_two_epoch_rule_keeps_the_second_even_when_the_first_was_better():
    assert kept(curve((0.9, 0.2), (0.7, 0.5)), TWO).epoch == 2


def test_two_epoch_rule_stops_after_two():
    assert [finished(curve(*[(0.5, 0.7)] * n), TWO) for n in (0, 1, 2)] == [False, False, True]


def test_selected_epoch_is_the_most_accurate():
    assert kept(curve((0.70, 0.6), (0.96, 0.2), (0.94, 0.1), (0.95, 0.1)), SELECTED).epoch == 2


def test_a_lower_loss_breaks_a_tie():
    assert kept(curve((0.99, 0.05), (0.99, 0.03), (0.99, 0.04)), SELECTED).epoch == 2


def test_the_earliest_of_equals_is_kept():
    assert best(curve((1.0, 0.01), (1.0, 0.01))).epoch == 1


def test_training_stops_after_two_epochs_without_improvement():
    recorded = curve((0.98, 0.05), (1.0, 0.01), (0.99, 0.02), (0.99, 0.02))
    assert [finished(recorded[:n], SELECTED) for n in (1, 2, 3, 4)] == [False, False, False, True]


def test_a_tie_with_a_lower_loss_is_an_improvement():
    assert finished(curve((0.99, 0.05), (0.99, 0.04), (0.99, 0.03)), SELECTED) is False


def test_nine_epochs_are_the_most():
    rising = curve(*[(0.1 * n, 1.0) for n in range(1, 10)])
    assert (finished(rising[:8], SELECTED), finished(rising, SELECTED)) == (False, True)


@pytest.mark.parametrize("stop,rising", [(2, 2), (5, 5), (9, 9)], ids=["ftCc seed 0", "ftCc seed 2", "ftDc seed 0"])
def test_the_selected_epochs_of_appendix_e_follow_from_curves_that_rise_until_then(stop, rising):
    points = curve(*[(min(n, rising) / 10, 0.5) for n in range(1, 10)])
    done = next(n for n in range(1, 10) if finished(points[:n], SELECTED))
    assert (kept(points[:done], SELECTED).epoch, done) == (stop, min(9, stop + 2))


def test_no_epoch_is_an_error():
    with pytest.raises(ValueError, match="no epoch"):
        kept([], SELECTED)
