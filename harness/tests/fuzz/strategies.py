"""What is thrown at the readers, and how often: bounded, and the same examples on every machine."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from harness.probe import Option, Request, RequestKey

SECONDS = 5.0
"""No single input may take longer, on a busy machine; the usual time is a few milliseconds."""


def bounded(examples: int) -> Callable:
    """Settings of one test: derandomised, so that a run of continuous integration never fails by luck."""
    return settings(max_examples=examples, derandomize=True, deadline=None, database=None,
                    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow,
                                           HealthCheck.filter_too_much])


@contextmanager
def quick():
    """Fails when what is inside hangs, as far as that shows in time."""
    started = time.perf_counter()
    yield
    assert time.perf_counter() - started < SECONDS


NUMBERS = st.one_of(st.integers(), st.floats(), st.sampled_from([10**400, -(10**400), math.inf, -math.inf, math.nan, 1e308,
                                                                 -0.0, True]))
TEXT = st.one_of(st.text(max_size=30), st.sampled_from(["", "A", "B", "choice", "\ud800", "\0", "q", "1e999", "<think>"]))
JSON = st.recursive(st.one_of(st.none(), st.booleans(), NUMBERS, TEXT),
                    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXT, inner, max_size=4)),
                    max_leaves=12)
"""Anything a JSON reader of Python can give, numbers beyond a float and lone surrogates included."""


def request(readout: str = "decision", **answer: Any) -> Request:
    options = (Option("A", "A", "Spectrum A"), Option("B", "B", "Spectrum B"), Option("undetermined", "cannot say"))
    return Request(RequestKey("s", "t", "i", "v", "table_nm", "plain", 0, "m"), (), "Which?", options, readout, "Which?",
                   answer=answer or {"space": "choice", "values": ["A", "B"]})


@st.composite
def mutated(draw: st.DrawFn, source: bytes, changes: int = 6) -> bytes:
    """``source`` with a few slices overwritten, doubled or cut out."""
    data = bytearray(source)
    for _ in range(draw(st.integers(1, changes))):
        if not data:
            break
        at, size = draw(st.integers(0, len(data) - 1)), draw(st.integers(1, 24))
        kind = draw(st.sampled_from(["write", "cut", "double", "end"]))
        if kind == "write":
            new = draw(st.binary(min_size=1, max_size=size))
            data[at : at + len(new)] = new
        elif kind == "cut":
            del data[at : at + size]
        elif kind == "double":
            data[at:at] = data[at : at + size]
        else:
            del data[at:]
    return bytes(data)


@st.composite
def replaced(draw: st.DrawFn, source: Any, changes: int = 3, values: st.SearchStrategy = JSON) -> Any:
    """A copy of nested data with a few values, keys or items replaced by anything."""
    data = json.loads(json.dumps(source))
    for _ in range(draw(st.integers(1, changes))):
        place: Any = data
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if isinstance(place[key], dict | list) and place[key] and draw(st.integers(0, 3)):
                place = place[key]
                continue
            what = draw(st.sampled_from(["value", "remove", "add"]))
            if what == "value":
                place[key] = draw(values)
            elif what == "remove":
                del place[key]
            elif isinstance(place, dict):
                place[draw(TEXT)] = draw(values)
            else:
                place.append(draw(values))
            break
    return data
