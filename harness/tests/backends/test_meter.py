"""Token buckets and limits."""

import asyncio
from types import SimpleNamespace

import pytest

from harness.backends import meter as meters
from harness.backends.meter import Bucket, Meter


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


def test_a_long_wait_for_a_limit_a_minute_is_told_and_not_for_every_request(monkeypatch):
    """One request in ten seconds, asked for after 0, 0.1, 0.2 and 6 s: they wait for 0, 9.9, 19.8 and 24 s."""
    async def no_sleep(seconds):
        pass

    clock, told = SimpleNamespace(now=0.0), []
    monkeypatch.setattr(meters, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(meters, "asyncio", SimpleNamespace(sleep=no_sleep))
    meter = Meter(requests_per_minute=6.0, tell=lambda kind, text: told.append((kind, text)))
    for clock.now in (100.0, 100.1, 100.2, 106.0):
        asyncio.run(meter.before_send())
    said = "the declared limit a minute holds requests back, the next one for"
    assert told == [("waiting", f"{said} 10 s"), ("waiting", f"{said} 24 s")]
