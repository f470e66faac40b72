"""Street signs in drawn camera views: the sign that the question asks for, else the one that could be taken for it."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from PIL import Image

from ..errors import DataError
from .print import best_text

COLOURS = {"red": (214, 48, 49), "blue": (40, 104, 201), "green": (39, 155, 85), "yellow": (241, 196, 15),
           "orange": (230, 126, 34), "purple": (142, 68, 173), "white": (255, 255, 255)}


def read(question: str, views: Sequence[bytes], options: tuple[str, ...]) -> tuple[str, bool]:
    """(option text, whether the sign asked for is in view).

    Raises:
        DataError: neither that sign nor another that speaks for an option.
    """
    looks = (("triangular", _triangle), ("square board", _square), ("arrow", _arrow))
    look = next((f for cue, f in looks if cue in question), None)
    if look is None:
        raise DataError(f"oracle: cannot tell what {question!r} asks for")
    seen = [found for png in views for found in _seen(look, png, options)]
    for value, decisive in sorted(seen, key=lambda s: not s[1]):
        if value in options:
            return value, decisive
    raise DataError("oracle: no sign in view speaks for an option")


@lru_cache(maxsize=256)
def _seen(look: Callable, png: bytes, options: tuple[str, ...]) -> list[tuple[str, bool]]:
    return look(np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(float), options)


def _blobs(rgb: np.ndarray, colour: tuple[int, int, int]) -> list[tuple[tuple[slice, slice], np.ndarray]]:
    from scipy.ndimage import find_objects, label

    mask = np.abs(rgb - np.array(colour)).max(axis=2) < 26
    blobs, _ = label(mask)
    return [(box, blobs[box] == i) for i, box in enumerate(find_objects(blobs), 1)
            if box[0].stop - box[0].start >= 30 and 30 <= box[1].stop - box[1].start <= 70]


def _triangle(rgb: np.ndarray, options: Sequence[str]) -> list[tuple[str, bool]]:
    out = []
    for name, colour in COLOURS.items():
        for _, inside in _blobs(rgb, colour):
            top = inside[: inside.shape[0] // 4].mean()
            out.append((name, top < 0.4))  # a disc is wide near its top, a triangle is not
    return [found for found in out if found[0] != "white"]


def _square(rgb: np.ndarray, options: Sequence[str]) -> list[tuple[str, bool]]:
    out = []
    for box, inside in _blobs(rgb, COLOURS["white"]):
        if inside.shape[0] > 60:
            continue
        patch = rgb[box]
        square = inside[:3, :3].mean() > 0.5
        ink = np.where(np.ptp(patch, axis=2) < 60, 1 - patch.min(axis=2) / 255, 0)[4:-4, 4:-4]
        out.append((best_text(ink, options, 22 if square else 20)[0], square))
    return out


def _arrow(rgb: np.ndarray, options: Sequence[str]) -> list[tuple[str, bool]]:
    out = []
    for colour, stroke, decisive in (
        (COLOURS["blue"], COLOURS["white"], True),
        (COLOURS["yellow"], (25, 25, 28), False),
    ):
        for box, _ in _blobs(rgb, colour):
            mark = np.abs(rgb[box] - np.array(stroke)).max(axis=2) < 60
            ys, xs = np.nonzero(mark)
            if len(xs) < 30:
                continue
            middle_x, middle_y = (xs.min() + xs.max()) / 2, (ys.min() + ys.max()) / 2
            # the head outweighs the shaft, so the centre of mass lies on its side
            if np.ptp(xs) > np.ptp(ys):
                out.append(("right" if xs.mean() > middle_x else "left", decisive))
            else:
                out.append(("down" if ys.mean() > middle_y else "up", decisive))
    return out
