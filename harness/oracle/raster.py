"""PNG bytes as palette indices, so that every later question about colour is asked once a colour, not once a pixel."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
from PIL import Image


@dataclass(frozen=True, slots=True)
class Raster:
    """An image by palette.

    Attributes:
        index: (height, width) index of each pixel's colour.
        colors: (n, 3) float RGB, 0-255.
    """

    index: np.ndarray
    colors: np.ndarray

    def where(self, chosen: np.ndarray) -> np.ndarray:
        """(height, width): for each pixel the entry of its colour in ``chosen`` (n,), booleans or numbers."""
        return np.take(chosen, self.index)

    @property
    def saturation(self) -> np.ndarray:
        """(n,) largest minus smallest channel of each colour."""
        return np.ptp(self.colors, axis=1)

    @property
    def darkness(self) -> np.ndarray:
        """(n,) 255 minus the brightest channel: how much black ink a grey pixel holds."""
        return 255 - self.colors.max(axis=1)


def decode(png: bytes) -> Raster:
    """Opens a PNG of any colour type."""
    image = Image.open(io.BytesIO(png))
    if image.mode == "P":
        index = np.asarray(image)
        return Raster(index, np.array(image.getpalette("RGB"), dtype=float).reshape(-1, 3))
    rgb = np.asarray(image.convert("RGB")).astype(np.uint32)
    codes, index = np.unique(rgb[..., 0] << 16 | rgb[..., 1] << 8 | rgb[..., 2], return_inverse=True)
    return Raster(index.reshape(rgb.shape[:2]), np.stack([codes >> 16, codes >> 8 & 255, codes & 255], axis=1) * 1.0)
