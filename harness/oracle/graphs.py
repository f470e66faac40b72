"""Maximum flow: from the printed rows of a matrix, or from the pixels of a drawn graph."""

from __future__ import annotations

import io
import json
import math
import re
from collections import deque
from functools import lru_cache
from itertools import pairwise

import numpy as np
from PIL import Image

from ..errors import DataError
from .print import best_text

_ENDS = re.compile(r"maximum flow from node (\d+) to node (\d+)")
SHIFTS = (0.0, 11.0)
"""Edges run through the middles of their nodes, or beside them where there are two."""
CLEAR = 0.5
"""Squared error over ink below which a digit is read without doubt."""
Matrix = list[list[int]]


def ends(system: str) -> tuple[int, int]:
    """Source and sink as the question names them."""
    found = _ENDS.search(system)
    if not found:
        raise DataError("oracle: the task does not name source and sink")
    return int(found[1]), int(found[2])


def matrix_of(text: str) -> Matrix:
    rows = [json.loads(line) for line in text.splitlines() if line.strip().startswith("[")]
    return rows[0] if len(rows) == 1 and isinstance(rows[0][0], list) else rows


def flow(matrix: Matrix, source: int, sink: int) -> int:
    """Edmonds and Karp: augment along shortest paths."""
    left = [list(row) for row in matrix]
    total = 0
    while True:
        came: dict[int, int] = {source: source}
        queue = deque([source])
        while queue and sink not in came:
            node = queue.popleft()
            for other, room in enumerate(left[node]):
                if room > 0 and other not in came:
                    came[other] = node
                    queue.append(other)
        if sink not in came:
            return total
        path = [sink]
        while path[-1] != source:
            path.append(came[path[-1]])
        room = min(left[a][b] for b, a in pairwise(path))
        for b, a in pairwise(path):
            left[a][b] -= room
            left[b][a] += room
        total += room


@lru_cache(maxsize=64)
def matrix_of_drawing(png: bytes) -> Matrix:
    """Finds the discs, reads their numbers, follows every possible edge and reads its capacity.

    Raises:
        DataError: fewer than two nodes, or a capacity that cannot be read.
    """
    rgb = np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(float)
    nodes = _nodes(rgb)
    dark = (rgb.max(axis=2) < 175).astype(float)
    matrix = [[0] * len(nodes) for _ in nodes]
    for i, a in nodes.items():
        for j, b in nodes.items():
            if i != j:
                matrix[i][j] = _capacity(rgb, dark, a, b)
    return matrix


def _nodes(rgb: np.ndarray) -> dict[int, tuple[float, float, float]]:
    """Number of each node -> (x, y, radius)."""
    from scipy.ndimage import binary_opening, find_objects, label

    # a disc is a blob that is not white, once lines are eroded away
    filled = binary_opening(rgb.min(axis=2) < 245, structure=np.ones((15, 15)))
    blobs, _ = label(filled)
    out: dict[int, tuple[float, float, float]] = {}
    for box in find_objects(blobs):
        (top, bottom), (left, right) = ((s.start, s.stop) for s in box)
        if not 30 < bottom - top < 70:
            continue
        x, y, radius = (left + right - 1) / 2, (top + bottom - 1) / 2, (right - left) / 2
        inner = rgb[int(y - 11) : int(y + 12), int(x - 11) : int(x + 12)]
        paper = np.median(inner.reshape(-1, 3), axis=0)
        ink = np.abs(inner - paper).sum(axis=2)
        number, _ = best_text(ink / max(ink.max(), 1), [str(k) for k in range(10)], 17)
        out[int(number)] = (x, y, radius)
    if len(out) < 2 or sorted(out) != list(range(len(out))):
        raise DataError(f"oracle: the drawing shows nodes {sorted(out)}; 0 to n-1 are expected")
    return out


def _capacity(rgb: np.ndarray, dark: np.ndarray, a: tuple[float, float, float], b: tuple[float, float, float]) -> int:
    """The capacity of the edge from a to b, 0 where there is none."""
    length = math.dist(a[:2], b[:2])
    ux, uy = (b[0] - a[0]) / length, (b[1] - a[1]) / length
    for shift in SHIFTS:
        dx, dy = -uy * shift, ux * shift
        steps = np.arange(a[2] + 3, length - b[2] - 3, 0.5)
        x, y = a[0] + ux * steps + dx, a[1] + uy * steps + dy
        line = np.maximum.reduce([_sample(dark, x + k * uy, y - k * ux) for k in (-1, 0, 1)]) > 0.5
        head = _arrow_head(dark, a, b, (dx, dy))
        if line.mean() < 0.6 or head < 0.4:
            continue
        # a line through both middles has one direction; other arrows may end near its start
        if not shift and head < _arrow_head(dark, b, a, (0.0, 0.0)):
            continue
        # where the label interrupts the line there is either nothing on it or ink beside it
        beside = np.maximum.reduce([_sample(dark, x + k * uy, y - k * ux) for k in (-4, 4)]) > 0.5
        middle = steps[_interruption(line & ~beside)]
        read = [_digit(rgb, a[0] + ux * at + dx, a[1] + uy * at + dy) for at in (middle - 4, middle, middle + 4)]
        if min(read)[0] > CLEAR:  # the stroke of a 1 may lie on the line and hide the gap: look everywhere
            inner = steps[len(steps) // 6 : -len(steps) // 6 : 4]
            read = [_digit(rgb, a[0] + ux * at + dx, a[1] + uy * at + dy) for at in inner]
        return min(read)[1]
    return 0


def _sample(values: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    column, row = (
        np.clip(np.rint(x).astype(int), 0, values.shape[1] - 1),
        np.clip(np.rint(y).astype(int), 0, values.shape[0] - 1),
    )
    return values[row, column]


def _interruption(thin: np.ndarray) -> int:
    """Middle of the stretch, as long as a label, in which least of the line shows; both ends are left out."""
    window, margin = 24, len(thin) // 6
    shown = np.convolve(thin, np.ones(window), "valid")
    inner = shown[margin : len(shown) - margin]
    return margin + int(np.mean(np.flatnonzero(inner == inner.min()))) + window // 2


def _arrow_head(dark: np.ndarray, a: tuple[float, float, float], b: tuple[float, float, float],
                shift: tuple[float, float]) -> float:
    """How much more ink lies on either side shortly before the end than behind it: a head is eight pixels wide."""
    length = math.dist(a[:2], b[:2])
    ux, uy = (b[0] - a[0]) / length, (b[1] - a[1]) / length

    def ink(along: float, side: int) -> float:
        across = side * np.arange(1, 4.5, 0.5)
        x, y = a[0] + ux * along + shift[0], a[1] + uy * along + shift[1]
        return float(_sample(dark, x + across * uy, y - across * ux).mean())

    def both(back: float) -> float:
        return min(ink(length - b[2] - 2 - back, 1), ink(length - b[2] - 2 - back, -1))

    return max(map(both, (7, 8, 9))) - max(map(both, (14, 15, 16)))


def _digit(rgb: np.ndarray, x: float, y: float) -> tuple[float, int]:
    """Error and value of the number printed around (x, y); what is further away than a label reaches is ignored."""
    top, left = round(y) - 10, round(x) - 10
    ink = 1 - rgb[max(top, 0) : top + 21, max(left, 0) : left + 21].min(axis=2) / 255
    rows, columns = np.indices(ink.shape)
    ink = np.where(np.hypot(rows - 10, columns - 10) < 8.6, ink, 0)
    text, error = best_text(ink, [str(k) for k in range(1, 10)], 15)
    return error, int(text)
