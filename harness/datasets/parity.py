"""Embedded stand-in for IsoBench ``math_parity``: a function as LaTeX and as a plot; is it even, odd or neither?

Rational functions with a denominator that is even and positive everywhere, so the parity is that of the numerator and
is known by construction. The two inputs say the same (regime *redundant*). 384 items, 128 of each answer, seeded.
One even, one odd and one neither numerator in turn are equally long, so that the length of the text says nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from itertools import count
from typing import Any

import numpy as np

from .drawing import GREY, INK, PALETTE, Board
from .draws import Draws
from .paired import Pair, PairedSet, Piece

LABELS = ("even", "odd", "neither")
WINDOW = 3.0
"""The plot shows -WINDOW <= x <= WINDOW."""
VISIBLE = 0.2
"""A ``neither`` breaks either symmetry by at least this share of its range, so that the plot shows it."""
LENGTHS = (16, 20, 22, 24, 26, 30, 32)
"""Characters of a numerator; each length is common among those of every label."""
EVEN, ODD = (0, 2, 4, 6), (1, 3, 5, 7)
WIDTH, HEIGHT, MARGIN = 420, 320, 26

Terms = tuple[tuple[int, float], ...]  # (power, coefficient), highest power first


@lru_cache(maxsize=4)
def load(n: int = 384, seed: int = 42, **_: Any) -> PairedSet:
    """``n`` items, labels in turn."""
    return PairedSet("parity", tuple(_item(i, seed) for i in range(n)), readable=True)


def _item(index: int, seed: int) -> Pair:
    label = LABELS[index % 3]
    length = Draws("parity", seed, "length", index // 3).choice(LENGTHS)
    over, under = next(f for attempt in count() if (f := _function(Draws("parity", seed, index, attempt), label, length)))
    latex = rf"$$f(x) = \frac{{{polynomial(over)}}}{{{polynomial(under)}}}$$"
    alone = {"text": label, "image": label}
    return Pair(
        id=f"parity-{index:03d}", cluster=f"parity-{index:03d}", expected=label,
        inputs={"text": (Piece(latex),),
                "image": (Piece(image=partial(plot, partial(rational, over, under))),)},
        facts={"regime": "redundant", "alone": alone, "sufficient": {"text": True, "image": True}},
    )


def _function(draws: Draws, label: str, length: int) -> tuple[Terms, Terms] | None:
    """Numerator and denominator; None where the numerator is of another length or the plot does not show the label."""
    over = _numerator(draws, label)
    if len(polynomial(over)) != length:
        return None
    under = _terms(draws, draws.sample((2, 4, 6), draws.integer(1, 2)), positive=True)
    under = (*under, (0, draws.number(2, 9)))
    return (over, under) if _shows(over, under, label) else None


def _numerator(draws: Draws, label: str) -> Terms:
    """Two or three terms whatever the label, one with a fine coefficient."""
    terms = draws.integer(2, 3)
    even = draws.integer(1, terms - 1) if label == "neither" else terms if label == "even" else 0
    powers = draws.sample(EVEN, even) + draws.sample(ODD, terms - even)
    fine = (draws.choice(powers), draws.choice((-1, 1)) * draws.number(0.5, 9))
    return tuple(fine if power == fine[0] else (power, coefficient) for power, coefficient in _terms(draws, powers))


def _terms(draws: Draws, powers: list[int], positive: bool = False) -> Terms:
    signs = (1,) if positive else (-1, 1)
    return tuple((p, float(draws.choice(signs) * draws.integer(1, 9))) for p in sorted(powers, reverse=True))


def _shows(over: Terms, under: Terms, label: str) -> bool:
    """The plot shows the label: not flat, and a ``neither`` breaks both symmetries visibly."""
    x = np.linspace(0, WINDOW, 200)
    right, left = rational(over, under, x), rational(over, under, -x)
    size = max(np.abs(right).max(), np.abs(left).max())
    spread = max(right.max(), left.max()) - min(right.min(), left.min())
    if spread < 0.5 * size:
        return False
    if label != "neither":
        return True
    return min(np.abs(right - left).max(), np.abs(right + left).max()) > VISIBLE * 2 * size


def rational(over: Terms, under: Terms, x: np.ndarray) -> np.ndarray:
    return np.sum([c * x**p for p, c in over], axis=0) / np.sum([c * x**p for p, c in under], axis=0)


def polynomial(terms: Terms) -> str:
    r"""LaTeX in the way of the published items: ``- 2 x^{5} + 3 x - 1.35``."""
    out = []
    for i, (power, coefficient) in enumerate(terms):
        size = abs(coefficient)
        number = f"{size:g}"
        variable = "" if power == 0 else "x" if power == 1 else f"x^{{{power}}}"
        body = number if not variable else variable if size == 1 else f"{number} {variable}"
        sign = "- " if coefficient < 0 else "+ " if i else ""
        out.append(sign + body)
    return " ".join(out)


def plot(function: Callable[[np.ndarray], np.ndarray]) -> bytes:
    """PNG of y = f(x) on axes through the origin. Both half-axes have one length, so symmetry shows as symmetry."""
    board = Board(WIDTH, HEIGHT)
    middle, centre = WIDTH / 2, HEIGHT / 2
    x = np.linspace(-WINDOW, WINDOW, 4 * (WIDTH - 2 * MARGIN) + 1)
    with np.errstate(all="ignore"):
        y = np.asarray(function(x), dtype=float) * np.ones_like(x)
    # a pole would press everything else flat, so the range covers 98 % of the points
    finite = np.abs(y[np.isfinite(y)])
    limit = float(np.quantile(finite, 0.98)) * 1.25 if finite.size else 1.0
    limit = _round_up(max(limit, float(finite.max()) * 1.05 if finite.size and finite.max() < 3 * limit else 0, 1e-6))
    across = (middle - MARGIN) / WINDOW
    up = (centre - MARGIN) / limit
    for tick in range(-3, 4):
        board.line([(middle + tick * across, centre - 4), (middle + tick * across, centre + 4)], GREY, 1)
        if tick:
            board.text(middle + tick * across, centre + 13, str(tick), 11, GREY)
    for share in (-1, -0.5, 0.5, 1):
        height = centre - share * limit * up
        board.line([(middle - 4, height), (middle + 4, height)], GREY, 1)
        board.text(middle - 8, height, f"{share * limit:g}", 11, GREY, "rm")
    board.line([(MARGIN / 2, centre), (WIDTH - MARGIN / 2, centre)], INK, 1)
    board.line([(middle, MARGIN / 2), (middle, HEIGHT - MARGIN / 2)], INK, 1)
    board.text(WIDTH - 10, centre - 12, "x", 13)
    board.text(middle + 22, 10, "f(x)", 13)
    points: list[tuple[float, float]] = []
    for xi, yi in zip(x, y, strict=True):
        if np.isfinite(yi) and abs(yi) <= 1.1 * limit:
            points.append((middle + xi * across, centre - yi * up))
        else:
            _stroke(board, points)
            points = []
    _stroke(board, points)
    return board.png()


def _stroke(board: Board, points: list[tuple[float, float]]) -> None:
    if len(points) > 1:
        board.line(points, PALETTE["blue"], 2)


def _round_up(value: float) -> float:
    """The next of 1, 2, 4, 6, 8, 10 times a power of ten."""
    base = 10.0 ** np.floor(np.log10(value))
    return float(next(m * base for m in (1, 2, 4, 6, 8, 10) if m * base >= value * 0.999999))
