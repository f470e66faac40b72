"""Maximum flow: from the printed rows of a matrix, or from the pixels of a drawn graph."""

from __future__ import annotations

import io
import json
import math
import re
from collections import deque

import numpy as np
from PIL import Image

from ..errors import DataError
from .print import best_text

_ENDS = re.compile(r"maximum flow from node (\d+) to node (\d+)")
SHIFTS = (0.0, 9.0)
"""Edges run through the middles of their nodes, or beside them where there are two."""
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
        room = min(left[a][b] for b, a in zip(path, path[1:], strict=False))
        for b, a in zip(path, path[1:], strict=False):
            left[a][b] -= room
            left[b][a] += room
        total += room


def matrix_of_drawing(png: bytes) -> Matrix:
    """Finds the discs, reads their numbers, follows every possible edge and reads its capacity.

    Raises:
        DataError: fewer than two nodes, or a capacity that cannot be read.
    """
    rgb = np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(float)
    nodes = _nodes(rgb)
    dark = (rgb.max(axis=2) < 120).astype(float)
    matrix = [[0] * len(nodes) for _ in nodes]
    for i, a in nodes.items():
        for j, b in nodes.items():
            if i != j:
                matrix[i][j] = _capacity(rgb, dark, a, b)
    return matrix


def _nodes(rgb: np.ndarray) -> dict[int, tuple[float, float, float]]:
    """Number of each node -> (x, y, radius)."""
    from scipy.ndimage import find_objects, label

    # a disc is a blob that is not white, once lines are eroded away
    from scipy.ndimage import binary_opening

    filled = binary_opening(rgb.min(axis=2) < 245, structure=np.ones((15, 15)))
    blobs, count = label(filled)
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
        line = np.maximum.reduce([_sample(dark, x + k * uy, y - k * ux) for k in (-1, 0, 1)])
        gap = _longest_gap(line > 0.5)
        if (line > 0.5).mean() < 0.6 or not _arrow_head(dark, a, b, ux, uy, dx, dy, length):
            continue
        if gap is None:
            raise DataError("oracle: an edge without a capacity")
        middle = steps[(gap[0] + gap[1]) // 2]
        return _digit(rgb, a[0] + ux * middle + dx, a[1] + uy * middle + dy)
    return 0


def _sample(values: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    column, row = np.clip(np.rint(x).astype(int), 0, values.shape[1] - 1), np.clip(np.rint(y).astype(int), 0, values.shape[0] - 1)
    return values[row, column]


def _longest_gap(line: np.ndarray) -> tuple[int, int] | None:
    """The longest stretch of the edge that is interrupted: the patch of its label, whose digit may cross the line."""
    edges = np.flatnonzero(line)
    best, start = None, None
    # a label is a stretch of 16 half-pixels or more in which little of the line shows
    window = 22
    if len(line) < window + 4 or not len(edges):
        return None
    shown = np.convolve(line, np.ones(window), "valid")
    start = int(np.argmin(shown))
    if shown[start] < window * 0.75:
        best = (start, start + window)
    return best


def _arrow_head(dark: np.ndarray, a, b, ux, uy, dx, dy, length) -> bool:
    """Near its end an arrow is about eight pixels wide, a line two."""
    def wide(along: float) -> float:
        across = np.arange(-5, 5.5, 0.5)
        return float(_sample(dark, a[0] + ux * along + dx + across * uy, a[1] + uy * along + dy - across * ux).mean()) * 10

    at_end = max(wide(length - b[2] - 2 - k) for k in (6, 7, 8, 9))
    at_start = max(wide(a[2] + k) for k in (13, 16))
    return at_end > 4.2 and at_end > at_start


def _digit(rgb: np.ndarray, x: float, y: float) -> int:
    """The number printed on the white patch around (x, y)."""
    best: tuple[float, str] = (math.inf, "")
    for ox in range(-4, 5, 2):
        for oy in range(-4, 5, 2):
            top, left = int(round(y + oy)) - 8, int(round(x + ox)) - 7
            patch = rgb[max(top, 0) : top + 17, max(left, 0) : left + 15]
            ink = 1 - patch.min(axis=2) / 255
            text, error = best_text(ink, [str(k) for k in range(1, 10)], 15)
            best = min(best, (error, text))
    return int(best[1])
