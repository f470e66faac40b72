"""What became of the requests. The shares of the five statuses partition the attempted rows (Outcome.status)."""

from __future__ import annotations

import numpy as np

from ..bootstrap import share
from ..rows import Rows
from .metric import metric


@metric("%", ideal=0)
def attrition(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x (attempted - usable) / attempted, in %. Ideal 0."""
    return share(rows, weights, ~rows.usable)


@metric("%", ideal=100)
def usable_share(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x usable / attempted, in %. Ideal 100."""
    return share(rows, weights, rows.usable)


@metric("%", ideal=0)
def repetition_share(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x replies that repeat themselves / attempted, in %. Ideal 0."""
    return share(rows, weights, rows.among("status", "repetition"))


@metric("%", ideal=0)
def truncated_share(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x replies cut off / attempted, in %. Ideal 0."""
    return share(rows, weights, rows.among("status", "truncated"))


@metric("%", ideal=0)
def provider_error_share(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x requests without any reply / attempted, in %. Ideal 0."""
    return share(rows, weights, rows.among("status", "provider_error"))


@metric("%", ideal=0)
def unparsed_share(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x replies without a readable answer / attempted, in %. Ideal 0."""
    return share(rows, weights, rows.among("status", "unparsed"))
