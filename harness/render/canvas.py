"""A reused drawing surface: matplotlib's Agg rasteriser and bundled font, without a Figure per plot.

Laying out a fresh ``Figure`` costs tens of milliseconds, nearly all of it text. A canvas keeps one rasteriser, and
every piece of text is rasterised once and kept as a stamp. Nothing here reads the user's matplotlibrc: the font is a
file of matplotlib's own and the one setting that text needs is set to its default.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path as FilePath

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.colors import to_rgb
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.transforms import Affine2D, IdentityTransform
from PIL import Image

FONT = FilePath(mpl.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")
WHITE = np.uint32(0xFFFFFFFF)
SHADE = np.round(np.arange(256) / 17).astype(np.uint16)
"""8-bit channel -> the nearest of 16 shades."""
PNG_LEVEL = 6
"""zlib level: from level 1 to 6 a plot shrinks by a third and costs about 2 ms more."""


class Canvas:
    """A white image of ``width`` x ``height`` pixels; coordinates are pixels from the upper left corner.

    Not thread-safe: one canvas draws one image at a time.
    """

    def __init__(self, width: int, height: int, dpi: int, font_size: float):
        self.width, self.height, self.dpi, self.font_size = width, height, dpi, font_size
        self.agg = RendererAgg(width, height, dpi)
        self.pixels = np.asarray(self.agg.buffer_rgba())

    def clear(self) -> None:
        self.pixels.view(np.uint32)[:] = WHITE

    def lines(
        self,
        pieces: Sequence[np.ndarray],
        color: str,
        width: float,
        *,
        clip: tuple[float, float, float, float] | None = None,
        snap: bool = False,
    ) -> None:
        """Polylines, each (n, 2), as one path. ``width`` in points.

        ``snap`` rounds width and place so that horizontal and vertical lines fill whole pixels. Agg's own snapping is
        off by half a pixel against unsnapped curves, which would put every tick beside its value.
        """
        gc = self.agg.new_gc()
        gc.set_foreground(color)
        gc.set_joinstyle("miter" if snap else "round")
        gc.set_capstyle("butt" if snap else "round")
        gc.set_snap(False)
        self._clip(gc, clip)
        points = np.concatenate(pieces)
        if snap:
            pixels = max(1, round(width * self.dpi / 72))
            width = pixels * 72 / self.dpi
            points = np.floor(points) + 0.5 if pixels % 2 else np.round(points)
        gc.set_linewidth(width)
        codes = np.concatenate([[Path.MOVETO] + [Path.LINETO] * (len(p) - 1) for p in pieces]).astype(Path.code_type)
        path = Path(self._up(points), codes)
        path.should_simplify = False  # the data's own corners, whatever the user's rcParams say
        self.agg.draw_path(gc, path, IdentityTransform())
        gc.restore()

    def markers(
        self, points: np.ndarray, shape: str, size: float, color: str, *, clip: tuple[float, float, float, float]
    ) -> None:
        """A filled ``circle`` or ``square`` of diameter ``size`` (points) at each of ``points`` (n, 2)."""
        gc = self.agg.new_gc()
        gc.set_foreground(color)
        gc.set_linewidth(0)
        gc.set_snap(False)
        self._clip(gc, clip)
        unit = (
            Path.unit_circle()
            if shape == "circle"
            else Path.unit_rectangle().transformed(Affine2D().translate(-0.5, -0.5).scale(2))
        )
        radius = Affine2D().scale(size * self.dpi / 144)
        self.agg.draw_markers(gc, unit, radius, Path(self._up(points)), IdentityTransform(), to_rgb(color))
        gc.restore()

    def text(self, x: float, y: float, text: str, *, align: tuple[float, float], upright: bool = False) -> None:
        """Black text whose ink box has its fraction ``align`` (across, down) at (x, y); ``upright``: reads upwards."""
        ink = text_stamp(text, self.dpi, self.font_size)
        ink = np.rot90(ink) if upright else ink
        h, w = ink.shape
        left, top = round(x - align[0] * w), round(y - align[1] * h)
        box = self.pixels[max(top, 0) : top + h, max(left, 0) : left + w, :3]
        part = ink[max(-top, 0) :, max(-left, 0) :][: box.shape[0], : box.shape[1]]
        np.minimum(box, 255 - part[..., None], out=box)

    def png(self) -> bytes:
        """The image as PNG in 16 shades a channel: 8-bit palette up to 256 colours, else RGB; no metadata.

        The shades (multiples of 17) only touch the soft edges of lines and letters, too little to be seen, and make
        the file half as large.
        """
        inked = np.flatnonzero(self.pixels.view(np.uint32) != WHITE)
        shade = SHADE[self.pixels.reshape(-1, 4)[inked, :3]]
        code = shade[:, 0] << 8 | shade[:, 1] << 4 | shade[:, 2]
        used = np.append(0xFFF, np.flatnonzero(np.bincount(code, minlength=4096)[:-1]))  # white first
        table = (np.stack([used >> 8, used >> 4 & 15, used & 15], axis=1) * 17).astype(np.uint8)
        position = np.zeros(4096, dtype=np.uint16)
        position[used] = np.arange(len(used))
        index = np.zeros(self.width * self.height, dtype=np.uint8 if len(used) <= 256 else np.uint16)
        index[inked] = position[code]
        size = (self.width, self.height)
        if len(used) <= 256:
            image = Image.frombytes("P", size, index.tobytes())
            image.putpalette(table.tobytes())
        else:
            image = Image.frombytes("RGB", size, table[index].tobytes())
        out = io.BytesIO()
        image.save(out, "PNG", compress_level=PNG_LEVEL)
        return out.getvalue()

    def _up(self, points: np.ndarray) -> np.ndarray:
        return np.column_stack([points[:, 0], self.height - points[:, 1]])  # Agg counts rows from below

    def _clip(self, gc, clip: tuple[float, float, float, float] | None) -> None:
        if clip is not None:
            left, top, right, bottom = clip
            gc.set_clip_rectangle(mpl.transforms.Bbox([[left, self.height - bottom], [right, self.height - top]]))


@lru_cache(maxsize=1024)
def text_stamp(text: str, dpi: int, font_size: float) -> np.ndarray:
    """(h, w) uint8 coverage of black ``text`` on white. All stamps of one font size share height and baseline."""
    size = font_size * dpi / 72
    width, height, descent = round(size * (len(text) + 2)), round(size * 2), round(size * 0.5)
    with mpl.rc_context({"text.hinting": "force_autohint"}):
        agg = RendererAgg(width, height, dpi)
        gc = agg.new_gc()
        gc.set_foreground("black")
        font = FontProperties(fname=str(FONT), size=font_size)
        agg.draw_text(gc, round(size * 0.5), height - descent, text, font, 0)
    ink = np.asarray(agg.buffer_rgba())[..., 3].copy()
    columns = np.flatnonzero(ink.any(axis=0))
    top, bottom = round(height - descent - size * 0.8), height - descent + round(size * 0.25)
    stamp = ink[top:bottom, columns[0] : columns[-1] + 1] if len(columns) else ink[top:bottom, :0]
    stamp.setflags(write=False)
    return stamp
