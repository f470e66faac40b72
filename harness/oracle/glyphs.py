"""Reads short printed text by comparison with DejaVu Sans, the font that ships with matplotlib.

Every result is kept by the bytes of the picture it was read from: a suite shows the same few labels thousands of times.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.font_manager import FontProperties

from ..errors import DataError

NUMERIC = "0123456789.\N{MINUS SIGN}"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SHIFTS = (0.0, 0.25, 0.5, 0.75)
"""A glyph can start at any fraction of a pixel."""
NEARBY = tuple((off, below) for off in (0.0, -0.05, 0.05, -0.1, 0.1) for below in (0, 1, -1))
"""Sizes and base lines next to the expected ones, in pixels."""
TRACE = 0.1
"""Coverage up to which a pixel counts as empty when text is cut out."""
CONFIDENT = 0.15
"""Largest share of the ink that may disagree with the best reading."""


@lru_cache(maxsize=2048)
def printed(text: str, size: float) -> np.ndarray:
    """(h, w) float coverage of ``text`` in a font of ``size`` pixels; ``baseline(size)`` is the first row below it."""
    with mpl.rc_context({"text.hinting": "force_autohint"}):
        agg = RendererAgg(int(size * (len(text) + 2)), int(size * 2), 72)
        gc = agg.new_gc()
        gc.set_foreground("black")
        font = FontProperties(fname=str(Path(mpl.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")), size=size)
        agg.draw_text(gc, int(size), int(size * 2) - int(size * 0.5), text, font, 0)
    ink = np.asarray(agg.buffer_rgba())[..., 3] / 255.0
    columns = np.flatnonzero((ink > TRACE).any(axis=0))
    return ink[:, columns[0] : columns[-1] + 1]


def baseline(size: float) -> int:
    return int(size * 2) - int(size * 0.5)


def trimmed(ink: np.ndarray) -> np.ndarray:
    """``ink`` without empty rows and columns around it; traces of neighbouring lines count as empty."""
    rows, columns = np.flatnonzero((ink > TRACE).any(axis=1)), np.flatnonzero((ink > TRACE).any(axis=0))
    return ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def disagreement(a: np.ndarray, b: np.ndarray) -> float:
    """Squared difference of two pictures over their ink, after padding both to one shape at the upper left corner."""
    h, w = max(a.shape[0], b.shape[0]), max(a.shape[1], b.shape[1])
    a, b = (np.pad(x, ((0, h - x.shape[0]), (0, w - x.shape[1]))) for x in (a, b))
    return float(((a - b) ** 2).sum() / (a**2).sum())


def which_text(ink: np.ndarray, candidates: tuple[str, ...]) -> tuple[str, float]:
    """Which of ``candidates`` the picture shows, and the font size in pixels. Raises DataError when it is none."""
    return _which_text(ink.astype(np.float32).tobytes(), ink.shape, candidates)


@lru_cache(maxsize=256)
def _which_text(data: bytes, shape: tuple[int, int], candidates: tuple[str, ...]) -> tuple[str, float]:
    ink = trimmed(np.frombuffer(data, dtype=np.float32).reshape(shape))
    guesses = [(t, 100 * ink.shape[1] / printed(t, 100.0).shape[1]) for t in candidates]
    guesses.sort(key=lambda g: disagreement(ink, trimmed(printed(*g))))
    for text, guess in guesses:
        # hinting rounds widths, so that the width only gives the neighbourhood of the size
        sizes = [round(k / 20, 2) for k in range(round(20 * guess) - 20, round(20 * guess) + 21)]
        error, size = min((disagreement(ink, trimmed(printed(text, s))), s) for s in sizes)
        if error < 2 * CONFIDENT:
            return text, size
    raise DataError(f"oracle: a title of the plot is none of {', '.join(candidates)}")


def read_text(ink: np.ndarray, size: float, alphabet: str) -> str:
    """The characters in a picture of one line without spaces. Raises DataError when no reading fits."""
    return _read_text(ink.astype(np.float32).tobytes(), ink.shape, size, alphabet)


@lru_cache(maxsize=4096)
def _read_text(data: bytes, shape: tuple[int, int], size: float, alphabet: str) -> str:
    ink = trimmed(np.frombuffer(data, dtype=np.float32).reshape(shape))
    for off, below in NEARBY:  # a title fits several sizes between which single glyphs still change
        cost, text = _best_split(ink, round(size + off, 2), alphabet, below)
        if cost < CONFIDENT * (ink**2).sum():
            return text
    raise DataError(f"oracle: a label of the plot reads {text!r} at best, which does not fit its pixels")


def _best_split(ink: np.ndarray, size: float, alphabet: str, below: int) -> tuple[float, str]:
    """Dynamic programme over columns: the cheapest row of glyphs whose last inked row is ``below`` the base line."""
    rows = slice(baseline(size) + below - ink.shape[0], baseline(size) + below)
    glyphs = [(c, g[rows]) for c in alphabet for g in shifted(c, size)]
    width = ink.shape[1]
    best: list[tuple[float, str]] = [(0.0, "")]
    for end in range(1, width + 1):
        cost, text = best[end - 1]
        options = [(cost + float((ink[:, end - 1] ** 2).sum()), text)]  # a column between glyphs
        for char, glyph in glyphs:
            start = end - glyph.shape[1]
            if start >= 0:
                cost, text = best[start]
                options.append((cost + float(((ink[:, start:end] - glyph) ** 2).sum()) + 1e-3, text + char))
        best.append(min(options))
    return best[-1]


@lru_cache(maxsize=256)
def shifted(char: str, size: float) -> list[np.ndarray]:
    """The glyph at fractions of a pixel further right."""
    glyph = printed(char, size)
    wide = np.pad(glyph, ((0, 0), (1, 1)))
    moved = [(1 - s) * wide[:, 1:] + s * wide[:, :-1] for s in SHIFTS]
    return [m[:, : glyph.shape[1] + (s > 0)] for m, s in zip(moved, SHIFTS, strict=True)]
