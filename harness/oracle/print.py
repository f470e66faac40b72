"""Reads short printed text of drawings by comparison with Pillow's built-in font.

The drawings are made twice as large and reduced; so are the pictures that they are compared with.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw, ImageFont


@lru_cache(maxsize=4096)
def printed(text: str, size: int, right: int = 0, down: int = 0) -> np.ndarray:
    """(h, w) coverage 0-1 of ``text`` of ``size`` px, shifted by half pixels, with a margin of 1 px."""
    font = ImageFont.load_default(size * 2)
    box = font.getbbox(text)
    wide, high = int(box[2] - box[0]) + 8, int(box[3] - box[1]) + 8
    image = Image.new("L", (wide + wide % 2, high + high % 2), 0)
    ImageDraw.Draw(image).text((2 - box[0] + right, 2 - box[1] + down), text, fill=255, font=font)
    return np.asarray(image.reduce(2), float) / 255


def best_text(ink: np.ndarray, candidates: Sequence[str], size: int) -> tuple[str, float]:
    """Which candidate lies somewhere in ``ink`` (coverage 0-1), and its squared error over its own ink.

    Every candidate is slid over the picture; ink outside it counts a little against it, so that 1 does not win over 11.
    """
    rough = sorted((_error(ink, printed(text, size)), text) for text in candidates)
    # half a pixel matters only between candidates that are about as good
    error, text = min(
        (_error(ink, printed(text, size, r, d)), text) for _, text in rough[:3] for r in (0, 1) for d in (0, 1)
    )
    return text, error


def _error(ink: np.ndarray, glyph: np.ndarray) -> float:
    """Least squared difference over all places of the glyph in the picture."""
    from scipy.signal import fftconvolve

    h, w = glyph.shape
    up, left = max(2, (h - ink.shape[0] + 1) // 2), max(2, (w - ink.shape[1] + 1) // 2)
    padded = np.zeros((ink.shape[0] + 2 * up, ink.shape[1] + 2 * left))
    padded[up : up + ink.shape[0], left : left + ink.shape[1]] = ink
    cross = fftconvolve(padded, glyph[::-1, ::-1], "valid")
    area = np.zeros((padded.shape[0] + 1, padded.shape[1] + 1))
    area[1:, 1:] = (padded**2).cumsum(0).cumsum(1)
    covered = area[h:, w:] - area[:-h, w:] - area[h:, :-w] + area[:-h, :-w]
    own = (glyph**2).sum()
    inside = covered - 2 * cross + own
    outside = area[-1, -1] - covered
    return float(((inside + 0.5 * outside.clip(0)) / own).min())
