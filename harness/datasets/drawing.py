"""A small drawing board for the generated pictures: coordinates in the final pixels, drawn twice as large and reduced.

Only Pillow and its built-in font are used, so a picture comes out byte for byte the same each time it is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

from .pictures import encode

SCALE = 2
INK = (34, 34, 40)
GREY = (150, 150, 158)
PALETTE = {
    "red": (214, 48, 49), "blue": (40, 104, 201), "green": (39, 155, 85), "yellow": (241, 196, 15),
    "orange": (230, 126, 34), "purple": (142, 68, 173), "white": (255, 255, 255), "black": (25, 25, 28),
}


@lru_cache(maxsize=16)
def font(size: int) -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    return ImageFont.load_default(size * SCALE)


class Board:
    """Width and height in px; ``png()`` gives the finished bytes."""

    def __init__(self, width: int, height: int, background: tuple[int, int, int] | str = "white"):
        self.width, self.height = width, height
        self.image = Image.new("RGB", (width * SCALE, height * SCALE), background)
        self.draw = ImageDraw.Draw(self.image)

    @staticmethod
    def _scaled(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
        return [(x * SCALE, y * SCALE) for x, y in points]

    def line(self, points: Sequence[tuple[float, float]], colour=INK, width: float = 2) -> None:
        self.draw.line(self._scaled(points), fill=colour, width=max(1, round(width * SCALE)), joint="curve")

    def polygon(self, points: Sequence[tuple[float, float]], fill=None, outline=None, width: float = 1) -> None:
        self.draw.polygon(self._scaled(points), fill=fill, outline=outline, width=max(1, round(width * SCALE)))

    def box(self, left: float, top: float, right: float, bottom: float, fill=None, outline=None,
            width: float = 1, radius: float = 0) -> None:
        corners = [left * SCALE, top * SCALE, right * SCALE, bottom * SCALE]
        self.draw.rounded_rectangle(corners, radius * SCALE, fill, outline, max(1, round(width * SCALE)))

    def disc(self, x: float, y: float, radius: float, fill=None, outline=None, width: float = 1) -> None:
        corners = [(x - radius) * SCALE, (y - radius) * SCALE, (x + radius) * SCALE, (y + radius) * SCALE]
        self.draw.ellipse(corners, fill, outline, max(1, round(width * SCALE)))

    def arc(self, x: float, y: float, radius: float, start: float, end: float, colour, width: float) -> None:
        """Angles in degrees, clockwise from three o'clock."""
        corners = [(x - radius) * SCALE, (y - radius) * SCALE, (x + radius) * SCALE, (y + radius) * SCALE]
        self.draw.arc(corners, start, end, colour, max(1, round(width * SCALE)))

    def text(self, x: float, y: float, text: str, size: int = 14, colour=INK, anchor: str = "mm") -> None:
        self.draw.text((x * SCALE, y * SCALE), text, fill=colour, font=font(size), anchor=anchor)

    def label(self, x: float, y: float, text: str, size: int = 14, colour=INK) -> None:
        """Text on a white patch, so that lines below do not cross it."""
        left, top, right, bottom = self.draw.textbbox((x * SCALE, y * SCALE), text, font=font(size), anchor="mm")
        self.draw.rectangle([left - 4, top - 3, right + 4, bottom + 3], fill="white")
        self.text(x, y, text, size, colour)

    def arrow(self, start: tuple[float, float], end: tuple[float, float], colour=INK, width: float = 2,
              head: float = 11) -> None:
        angle = math.atan2(end[1] - start[1], end[0] - start[0])
        neck = (end[0] - head * 0.8 * math.cos(angle), end[1] - head * 0.8 * math.sin(angle))
        self.line([start, neck], colour, width)
        wings = [(end[0] - head * math.cos(angle + s), end[1] - head * math.sin(angle + s)) for s in (0.42, -0.42)]
        self.polygon([end, *wings], fill=colour)

    def png(self, colours: int | None = 64) -> bytes:
        small = self.image.resize((self.width, self.height), Image.Resampling.BOX)
        return encode(small, colours)
