"""Even, odd or neither: from a rational function in LaTeX, or from the pixels of its plot."""

from __future__ import annotations

import io
import re

import numpy as np
from PIL import Image

from ..errors import DataError

_TOKEN = re.compile(r"\\frac|\\left|\\right|\\cdot|[0-9]+(?:\.[0-9]+)?|[{}()^+*/-]|x")
TOLERANCE_PX = 3.0
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
        try:
            return np.float64(token)  # type: ignore[return-value]
        except ValueError:
            raise DataError(f"oracle: {token!r} stands where a number or x is expected") from None


def parity_of_plot(png: bytes) -> str:
    """Digitises the curve, finds the axes and compares the two halves.

    Raises:
        DataError: no curve or no axes.
    """
    rgb = np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)
    # the curve is the only saturated stroke; axes, ticks and numbers are grey
    curve = (rgb[..., 2] - rgb[..., 0]).clip(0) / 161.0
    dark = np.where(curve < 0.2, 255 - rgb.max(axis=2), 0)
    row, column = _axis(dark, 1), _axis(dark, 0)
    ink = np.where(curve > 0.25, curve, 0)
    mass = ink.sum(axis=0)
    columns = np.flatnonzero(mass > 0)
    if len(columns) < 20:
        raise DataError("oracle: the plot has no curve")
    rows = np.arange(rgb.shape[0])[:, None] - row
    middle = (ink * rows).sum(axis=0)[columns] / mass[columns]
    tall = (ink > 0).sum(axis=0)[columns]
    # both halves at the same distances from the vertical axis, between the pixels' middles
    step = np.arange(3, min(column - columns[0], columns[-1] - column), 0.5)
    sides = [column - step, column + step]
    left, right = (np.interp(at, columns, middle) for at in sides)
    # within one column a steep stroke covers many rows, and its middle is uncertain by some of them
    slack = TOLERANCE_PX + np.maximum(*(np.interp(at, columns, tall) for at in sides)) * 0.6
    return _verdict(np.abs(left - right), np.abs(left + right), slack)


def _axis(dark: np.ndarray, along: int) -> float:
    """Where the longest dark line lies, in parts of a pixel.

    Raises:
        DataError: nothing that is as long as a third of the picture.
    """
    profile = dark.sum(axis=along) / 255
    at = int(np.argmax(profile))
    near = np.arange(at - 2, at + 3)
    weight = profile[near] - np.median(profile)
    if weight.max() < 0.3 * dark.shape[along] / 2:
        raise DataError("oracle: the plot has no axes through its origin")
    weight = np.where(weight > 0.3 * weight.max(), weight, 0)
    return float((weight * near).sum() / weight.sum())
