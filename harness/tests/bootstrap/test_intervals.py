from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from harness.intervals import Sample, bca, cluster_t, t_quantile, wilson, without_variance


def sample(value, left_out=(), unit="%", n=10, resampled=()):
    resampled = np.array(resampled or [value] * 10, float)
    return Sample(value, resampled, lambda: np.array(left_out or [value] * n, float), unit, n, 4 * n)


@pytest.mark.parametrize("df", [1, 2, 3, 4, 7, 15, 47, 1000])
def test_t_quantiles_equal_those_of_scipy(df):
    assert t_quantile(0.975, df) == pytest.approx(stats.t.ppf(0.975, df), rel=2e-3)


def test_cluster_t_is_the_t_interval_of_the_unit_means():
    means = np.array([10.0, 30.0, 50.0, 80.0, 90.0])
    left_out = [(means.sum() - m) / 4 for m in means]
    low, high = stats.t.interval(0.95, 4, means.mean(), stats.sem(means))
    assert cluster_t(sample(52.0, left_out, n=5)) == pytest.approx((low, high), rel=2e-3)


def test_cluster_t_stays_within_the_range_of_the_metric():
    assert cluster_t(sample(95.0, [90.0, 100.0], n=2)) == pytest.approx((31.5, 100.0), abs=0.1)


def test_wilson_without_variance_equals_the_score_interval_of_n_units():
    # t(9)^2 = 5.117; low = n / (n + t^2) = 10 / 15.117 = 66.2 %
    assert wilson(sample(100.0)) == pytest.approx((66.15, 100.0), abs=0.05)


def test_wilson_of_a_difference_is_the_cluster_t_interval():
    one = sample(5.0, [4.0, 6.0, 5.0], "points", 3)
    assert wilson(one) == cluster_t(one)


def test_bca_without_spread_falls_back_to_percentiles():
    assert bca(sample(100.0)) == (100.0, 100.0)


def test_no_variance_among_n_units_leaves_clopper_and_pearsons_bound():
    # 1 - 0.025^(1/10) = 30.85 %
    assert without_variance(100.0, 10, "%") == pytest.approx((69.15, 100.0), abs=0.01)


def test_no_variance_of_a_difference_leaves_room_on_both_sides():
    assert without_variance(0.0, 10, "points") == pytest.approx((-30.85, 30.85), abs=0.01)
