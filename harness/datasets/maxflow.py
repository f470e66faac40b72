"""Embedded stand-in for IsoBench ``graph_maxflow``: an adjacency matrix and a drawing; what is the maximum flow?

The answer comes from SciPy's solver. The drawing marks source and sink by colour and the prompt names both nodes, so
the two inputs say the same (regime *redundant*). 128 graphs of 3, 4 and 5 nodes in the published proportion, seeded.
Every size has every flow equally often, so that the number of nodes says nothing.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from itertools import combinations, count
from typing import Any

import numpy as np

from .drawing import INK, PALETTE, Board
from .draws import Draws
from .paired import Pair, PairedSet, Piece

SIZES = (3,) * 50 + (4,) * 37 + (5,) * 41
FLOWS = range(3, 15)
"""Maximum flows, in turn; all can be had with three nodes and capacities of 1 to 9."""
COLOURS = (("red", "blue"), ("green", "orange"), ("purple", "yellow"), ("blue", "red"))
PLACES = {3: (180, 90, 0), 4: (180, 90, 270, 0), 5: (180, 100, 235, 305, 0)}
"""Angles of the nodes on an ellipse. No edge between two of them passes through a third."""
WIDTH, HEIGHT, RADIUS = 460, 340, 22

Matrix = tuple[tuple[int, ...], ...]


@lru_cache(maxsize=4)
def load(n: int = 128, seed: int = 42, **_: Any) -> PairedSet:
    return PairedSet("maxflow", tuple(_item(i, SIZES[i % len(SIZES)], seed) for i in range(n)), readable=True)


def _item(index: int, nodes: int, seed: int) -> Pair:
    for attempt in count():
        draws = Draws("maxflow", seed, index, attempt)
        matrix = _graph(draws, nodes)
        if least_cut(matrix) == FLOWS[index % len(FLOWS)]:
            break
    flow = maximum_flow(matrix, 0, nodes - 1)
    colours = draws.choice(COLOURS)
    return graph_pair(f"maxflow-{index:03d}", matrix, 0, nodes - 1, colours, flow,
                      partial(draw_graph, matrix, 0, nodes - 1, colours))


def graph_pair(name: str, matrix: Matrix, source: int, sink: int, colours: tuple[str, str], flow: int,
               image: Any) -> Pair:
    """The item of one graph: matrix rows as text, a drawing, and the answer."""
    alone = {"text": str(flow), "image": str(flow)}
    return Pair(
        id=name, cluster=name, expected=str(flow),
        inputs={"text": (Piece(matrix_text(matrix)),), "image": (Piece(image=image),)},
        fields={"source": str(source), "sink": str(sink), "source_color": colours[0], "sink_color": colours[1]},
        facts={"regime": "redundant", "alone": alone, "sufficient": {"text": True, "image": True}},
    )


def _graph(draws: Draws, nodes: int) -> Matrix:
    rows = [[0] * nodes for _ in range(nodes)]
    for i in range(nodes - 1):
        for j in range(1, nodes):
            # forward edges are common, backward ones between inner nodes rare, none into the source or out of the sink
            if i != j and draws.unit() < (0.75 if i < j else 0.3):
                rows[i][j] = draws.integer(1, 9)
    return tuple(map(tuple, rows))


def least_cut(matrix: Matrix) -> int:
    """Capacity of the least cut between the first node and the last, which is the maximum flow (Ford and Fulkerson
    1956, doi:10.4153/CJM-1956-045-5): all cuts of a few nodes are tried in less time than the solver takes to start."""
    nodes, inner = range(len(matrix)), range(1, len(matrix) - 1)
    sides = ({0, *side} for size in range(len(inner) + 1) for side in combinations(inner, size))
    return min(sum(matrix[i][j] for i in side for j in nodes if j not in side) for side in sides)


def maximum_flow(matrix: Matrix, source: int, sink: int) -> int:
    """Maximum flow by ``scipy.sparse.csgraph.maximum_flow``."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_flow as solve

    return int(solve(csr_matrix(np.asarray(matrix, dtype=np.int32)), source, sink).flow_value)


def matrix_text(matrix: Matrix) -> str:
    """One row of the matrix a line, e.g. ``[0, 7, 8, 9]``."""
    return "\n".join(str(list(row)) for row in matrix)


def draw_graph(matrix: Matrix, source: int, sink: int, colours: tuple[str, str]) -> bytes:
    """PNG of the graph: numbered nodes, arrows with their capacities, source and sink filled with their colours."""
    n = len(matrix)
    angles: tuple[float, ...] = PLACES.get(n) or tuple(180 - 360 * i / n for i in range(n))
    order = [source, *(k for k in range(n) if k not in (source, sink)), sink] if n in PLACES else list(range(n))
    spot = {}
    for node, angle in zip(order, angles, strict=True):
        spot[node] = (WIDTH / 2 + 190 * math.cos(math.radians(angle)),
                      HEIGHT / 2 - 130 * math.sin(math.radians(angle)))
    board = Board(WIDTH, HEIGHT)
    edges = []
    for i in range(n):
        for j in range(n):
            if matrix[i][j]:
                edges.append((i, j, _edge(spot[i], spot[j], 11 if matrix[j][i] else 0)))
    for _, _, (start, end) in edges:
        board.arrow(start, end, INK, 1.6)
    taken: list[tuple[float, float]] = []
    for i, j, (start, end) in edges:
        others = [e for a, b, e in edges if (a, b) != (i, j)]
        place = max((_along(start, end, t) for t in (0.5, 0.4, 0.6, 0.33, 0.67, 0.27)),
                    key=lambda p: min(_room(p, others, taken), 22))
        taken.append(place)
        board.label(*place, str(matrix[i][j]), 15, PALETTE["black"])
    for node, (x, y) in spot.items():
        colour = colours[0] if node == source else colours[1] if node == sink else ""
        board.disc(x, y, RADIUS, PALETTE.get(colour, (232, 232, 236)), INK, 1.6)
        dark = colour in ("red", "blue", "green", "purple", "black")
        board.text(x, y, str(node), 17, "white" if dark else INK)
    return board.png()


def _edge(a: tuple[float, float], b: tuple[float, float], shift: float) -> tuple[tuple[float, float], ...]:
    """The visible part of an edge; two opposite edges run side by side."""
    length = math.dist(a, b)
    ux, uy = (b[0] - a[0]) / length, (b[1] - a[1]) / length
    dx, dy = -uy * shift, ux * shift
    return ((a[0] + ux * RADIUS + dx, a[1] + uy * RADIUS + dy),
            (b[0] - ux * (RADIUS + 2) + dx, b[1] - uy * (RADIUS + 2) + dy))


def _along(start: tuple[float, float], end: tuple[float, float], share: float) -> tuple[float, float]:
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share


def _room(point: tuple[float, float], edges: list, taken: list[tuple[float, float]]) -> float:
    """Distance to the nearest other edge or label, px."""
    room: float = min((math.dist(point, t) for t in taken), default=99.0)
    for start, end in edges:
        length = math.dist(start, end) or 1
        share = ((point[0] - start[0]) * (end[0] - start[0]) + (point[1] - start[1]) * (end[1] - start[1])) / length**2
        room = min(room, math.dist(point, _along(start, end, min(1.0, max(0.0, share)))))
    return room
