"""Even, odd or neither: from a rational function in LaTeX, or from the pixels of its plot."""

from __future__ import annotations

import io
import re

import numpy as np
from PIL import Image

from ..errors import DataError

_TOKEN = re.compile(r"\\frac|\\left|\\right|\\cdot|[0-9]+(?:\.[0-9]+)?|[{}()^+*/-]|x")
TOLERANCE_PX = 2.5
"""Antialiasing and rounding move a stroke's middle by less than this."""


def parity_of_latex(text: str) -> str:
    """Checks f(-x) against f(x) on a grid.

    Raises:
        DataError: not a formula in x of the kind ``$$f(x) = \\frac{...}{...}$$``.
    """
    body = text.strip().strip("$").partition("=")[2].strip()
    tokens = _TOKEN.findall(body)
    if "".join(tokens) != re.sub(r"\s", "", body):
        raise DataError(f"oracle: {text[:60]!r} holds something that is no rational function of x")
    x = np.linspace(0.07, 1.93, 25)
    right, left = _Formula(tokens, x).value(), _Formula(tokens, -x).value()
    return _verdict(np.abs(left - right), np.abs(left + right), 1e-9 * (1 + np.abs(right)))


def _verdict(even: np.ndarray, odd: np.ndarray, tolerance: np.ndarray | float) -> str:
    if (even <= tolerance).all():
        return "even"
    return "odd" if (odd <= tolerance).all() else "neither"


class _Formula:
    """Recursive descent over LaTeX tokens, evaluated at the points ``x``."""

    def __init__(self, tokens: list[str], x: np.ndarray):
        self.tokens, self.x, self.at = [t for t in tokens if t not in ("\\left", "\\right")], x, 0

    def value(self) -> np.ndarray:
        out = self.sum()
        if self.at != len(self.tokens):
            raise DataError(f"oracle: formula ends before {self.tokens[self.at]!r}")
        return out * np.ones_like(self.x)

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        self.at += 1
        if self.at > len(self.tokens):
            raise DataError("oracle: formula ends too early")
        return self.tokens[self.at - 1]

    def sum(self) -> np.ndarray:
        sign = -1.0 if self.peek() == "-" else 1.0
        if self.peek() in ("+", "-"):
            self.take()
        out = sign * self.product()
        while self.peek() in ("+", "-"):
            sign = -1.0 if self.take() == "-" else 1.0
            out = out + sign * self.product()
        return out

    def product(self) -> np.ndarray:
        out = self.power()
        while self.peek() and self.peek() not in ("+", "-", "}", ")"):
            if self.peek() in ("\\cdot", "*"):
                self.take()
            out = out * self.power()
        return out

    def power(self) -> np.ndarray:
        base = self.atom()
        if self.peek() != "^":
            return base
        self.take()
        return base ** self.atom()

    def atom(self) -> np.ndarray:
        token = self.take()
        if token == "x":
            return self.x
        if token == "\\frac":
            over = self.atom()
            return over / self.atom()
        if token in ("{", "("):
            inner = self.sum()
            self.take()
            return inner
        return np.float64(token)  # type: ignore[return-value]


def parity_of_plot(png: bytes) -> str:
    """Digitises the curve, finds the axes and compares the two halves.

    Raises:
        DataError: no curve or no axes.
    """
    rgb = np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)
    # the curve is the only saturated stroke; axes, ticks and numbers are grey
    curve = (rgb[..., 2] - rgb[..., 0]).clip(0) / 161.0
    dark = (rgb.max(axis=2) < 110) & (curve < 0.2)
    row, column = int(np.argmax(dark.sum(axis=1))), int(np.argmax(dark.sum(axis=0)))
    if dark[row].mean() < 0.3 or dark[:, column].mean() < 0.3:
        raise DataError("oracle: the plot has no axes through its origin")
    ink = np.where(curve > 0.25, curve, 0)
    width = int(min(column, rgb.shape[1] - 1 - column))
    height = np.arange(rgb.shape[0])[:, None] - row
    mass = ink.sum(axis=0)
    if (mass > 0).sum() < 20:
        raise DataError("oracle: the plot has no curve")
    with np.errstate(invalid="ignore", divide="ignore"):
        middle = (ink * height).sum(axis=0) / mass
    low = np.where(ink > 0, height, 10**6).min(axis=0)
    high = np.where(ink > 0, height, -(10**6)).max(axis=0)
    step = np.arange(3, width)
    left, right = column - step, column + step
    both = (mass[left] > 0) & (mass[right] > 0)
    left, right = left[both], right[both]
    # a steep stroke is tall: what counts is whether the other half, mirrored or turned, lies within it
    slack = TOLERANCE_PX + np.maximum(high[left] - low[left], high[right] - low[right]) / 4
    even = np.abs(middle[left] - middle[right]) / slack
    odd = np.abs(middle[left] + middle[right]) / slack
    return _verdict(even, odd, 1.0)
