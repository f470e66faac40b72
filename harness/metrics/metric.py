"""How a metric is declared and found by name."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from ..errors import KeyLookupError, near
from ..probe import RequestKey
from ..rows import KEY, Floats, Rows
from . import METRICS


@dataclass(frozen=True, slots=True)
class Metric:
    """A pure function of rows and weights, with what a reader and a table need to know about it.

    Attributes:
        function: ``(rows, weights (B, n_units), **settings) -> (B,)`` on rows that are already selected.
        chosen: ``(rows, **settings) -> Rows``: those that enter; their number is the n of the estimate.
        unit: ``%``, ``points`` (differences of percentages) or ``score``.
        ideal: what a perfect model gets, or None where there is no such value.
        settings: e.g. the reference of a difference.
    """

    name: str
    function: Callable[..., np.ndarray]
    chosen: Callable[..., Rows]
    unit: str
    ideal: float | None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, rows: Rows, weights: np.ndarray) -> Floats:
        return self.compute(self.select(rows), weights)

    def select(self, rows: Rows) -> Rows:
        return self.chosen(rows, **self.settings)

    def compute(self, rows: Rows, weights: np.ndarray) -> Floats:
        found: Floats = self.function(rows, weights, **self.settings)
        return found

    def given(self, **settings: Any) -> Metric:
        """The same metric with other settings."""
        return replace(self, settings={**self.settings, **settings})

    @property
    def description(self) -> str:
        return (self.function.__doc__ or "").strip()


def attempted(rows: Rows) -> Rows:
    """All rows but the lost."""
    return rows.take(rows.attempted)


def metric(unit: str, ideal: float | None, rows: Callable[..., Rows] = attempted,
           **settings: Any) -> Callable[[Callable[..., np.ndarray]], Metric]:
    """Declare the decorated function a metric over ``rows``; its docstring states formula, unit and ideal value."""
    def declare(function: Callable[..., np.ndarray]) -> Metric:
        return Metric(function.__name__, function, rows, unit, ideal, settings)
    return declare


@cache
def load(name: str) -> Metric:
    """The metric of this name, e.g. ``accuracy`` or ``paired_difference[view=table_um]``.

    Raises:
        KeyLookupError: no such metric, or a reference that it does not take.
    """
    parts = re.fullmatch(r"(\w+)(?:\[(\w+)=([^\]]+)\])?", name.strip())
    if not parts or parts[1] not in METRICS:
        raise KeyLookupError(f"{name!r} is not a metric{near(parts[1] if parts else name, METRICS)}")
    module, _, attribute = METRICS[parts[1]].partition(":")
    found: Metric = getattr(importlib.import_module(f".{module}", __package__), attribute)
    if parts[2] is None:
        return found
    if "reference" not in found.settings:
        raise KeyLookupError(f"{name!r}: {parts[1]} takes no reference; write {parts[1]!r}")
    if parts[2] not in KEY:
        raise KeyLookupError(f"{name!r}: {parts[2]!r} is no part of a request key{near(parts[2], KEY)}")
    reference = parts[3] if RequestKey.__annotations__[parts[2]] != "int" else int(parts[3])
    return replace(found.given(column=parts[2], reference=reference), name=name.strip())
