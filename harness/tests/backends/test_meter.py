"""Token buckets and limits."""

import pytest

from harness.backends.meter import Bucket


def served(bucket, amounts, now=0.0):
    return [now + bucket.take(a, now) for a in amounts]


def test_a_bucket_lets_a_seconds_worth_through_and_spreads_the_rest():
    assert served(Bucket(120.0), [1] * 6) == pytest.approx([0, 0, 0.5, 1.0, 1.5, 2.0])


def test_a_slow_rate_lets_one_through_at_once():
    assert served(Bucket(6.0), [1] * 3) == pytest.approx([0, 10, 20])


def test_no_rate_is_no_wait():
    assert served(Bucket(0.0), [1e9] * 3) == [0, 0, 0]


def test_a_bucket_fills_again_but_never_beyond_its_burst():
    bucket = Bucket(60.0)
    assert bucket.take(1, 0.0) == 0
    assert bucket.take(1, 100.0) == 0
    assert bucket.take(1, 100.0) == pytest.approx(1.0)


def test_a_minute_never_sees_more_than_its_rate_and_the_burst():
    bucket, now, sent = Bucket(300.0), 0.0, []
    while now < 60:
        now += bucket.take(1, now)
        sent.append(now)
    assert len([t for t in sent if t <= 60]) <= 306
