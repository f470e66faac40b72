"""Embedded stand-in for GoldenView: drawn six-camera street scenes with an annotated decisive view.

Exactly one camera shows the sign that a question asks for; other cameras show signs of another kind, and each set of
three holds one that speaks for a wrong option. So the set with the decisive view settles the answer and the other set
does not (regime *unique*). 55 questions on 53 scenes; three questions show the sign in both sets and are annotated
``NONE_OF_THE_ABOVE`` (regime *redundant*).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from .drawing import INK, PALETTE, Board
from .draws import Draws
from .goldenview import CAMERAS, LETTERS, NONE, partition, view_pair
from .paired import Pair, PairedSet

KINDS = {
    "colour": ("What is the colour of the triangular sign?", ("red", "blue", "green", "yellow", "purple", "orange")),
    "number": ("Which number stands on the square board?", ("20", "30", "40", "50", "60", "80")),
    "direction": ("Which way does the arrow on the blue board point?", ("left", "right", "up", "down")),
}
BOTH_EVERY = 18
"""Every 18th question shows its sign in both sets."""
WIDTH, HEIGHT = 320, 180


@lru_cache(maxsize=4)
def load(n: int = 55, seed: int = 42, **_: Any) -> PairedSet:
    return PairedSet("scenes", tuple(_item(i, seed) for i in range(n)), readable=True)


def _item(index: int, seed: int) -> Pair:
    draws = Draws("scenes", seed, index)
    kind = tuple(KINDS)[index % len(KINDS)]
    name = f"scene-{index:03d}-{kind}"
    question, values = KINDS[kind]
    offered = draws.sample(values, 4)
    answer = draws.choice(offered)
    lures = draws.shuffled([v for v in offered if v != answer])
    halves = partition(name, seed)
    everywhere = index % BOTH_EVERY == BOTH_EVERY - 1
    golden = draws.choice(CAMERAS)
    signs: dict[str, tuple[str, str]] = {}
    alone = {}
    for key, half, lure in zip(("set_a", "set_b"), halves, lures, strict=False):
        holds = everywhere or golden in half
        target = (golden if golden in half else draws.choice(half)) if holds else ""
        spot = draws.choice([c for c in half if c != target])
        if target:
            signs[target] = (kind, answer)
        signs[spot] = (f"other-{kind}", lure)
        alone[key] = LETTERS[offered.index(answer if holds else lure)]
    pictures = {c: partial(draw_view, seed, index, c, *signs.get(c, ("", ""))) for c in CAMERAS}
    pair = view_pair(
        name,
        f"scene-{index % 53:03d}",
        question,
        tuple(zip(LETTERS, offered, strict=True)),
        LETTERS[offered.index(answer)],
        NONE if everywhere else golden,
        pictures,
        name,
        seed,
        {"group": kind},
    )
    settled = {key: alone[key] == pair.expected for key in alone}
    regime = "redundant" if everywhere else "unique"
    return replace(pair, facts={**pair.facts, "regime": regime, "alone": alone, "sufficient": settled})


def draw_view(seed: int, index: int, camera: str, sign: str, value: str) -> bytes:
    """PNG of what one camera sees: sky, ground, a road, some scenery and perhaps one sign."""
    draws = Draws("scenes-view", seed, index % 53, camera)
    board = Board(WIDTH, HEIGHT, (188, 214, 236))
    horizon = draws.integer(84, 100)
    board.box(0, horizon, WIDTH, HEIGHT, (168, 186, 150))
    middle = {"CAM_FRONT": 160, "CAM_BACK": 160}.get(camera, draws.integer(90, 230))
    board.polygon(
        [(middle - 12, horizon), (middle + 12, horizon), (middle + 150, HEIGHT), (middle - 150, HEIGHT)],
        (120, 122, 128),
    )
    for step in range(3):
        top = horizon + 14 + step * 26
        board.polygon([(middle - 1 - step, top), (middle + 1 + step, top), (middle + 3 + step, top + 14),
                       (middle - 3 - step, top + 14)], "white")
    for _ in range(draws.integer(2, 4)):
        _scenery(board, draws, horizon)
    if sign:
        left = draws.integer(60, 120) if draws.unit() < 0.5 else draws.integer(200, 260)
        _sign(board, sign, value, left, horizon - 22)
    return board.png()


def _scenery(board: Board, draws: Draws, horizon: int) -> None:
    x = draws.choice((draws.integer(10, 50), draws.integer(135, 185), draws.integer(270, 310)))
    if draws.unit() < 0.5:
        board.line([(x, horizon + 4), (x, horizon - 20)], (104, 78, 52), 4)
        board.disc(x, horizon - 30, draws.integer(11, 17), (92, 132, 84))
    else:
        height, shade = draws.integer(24, 50), draws.integer(150, 190)
        board.box(x - 16, horizon - height, x + 16, horizon + 2, (shade, shade - 8, shade - 18))
        for row in range(2):
            for column in (-1, 1):
                board.box(x + column * 8 - 3, horizon - height + 6 + row * 12, x + column * 8 + 3,
                          horizon - height + 13 + row * 12, (110, 118, 132))


def _sign(board: Board, sign: str, value: str, x: float, y: float) -> None:
    board.line([(x, y + 12), (x, y + 58)], (70, 70, 76), 3)
    if sign == "colour":
        board.polygon([(x, y - 26), (x + 26, y + 18), (x - 26, y + 18)], PALETTE[value], INK, 2)
    elif sign == "other-colour":
        board.disc(x, y, 22, PALETTE[value], INK, 2)
    elif sign == "number":
        board.box(x - 22, y - 22, x + 22, y + 22, "white", INK, 2)
        board.text(x, y, value, 22)
    elif sign == "other-number":
        board.disc(x, y, 23, "white", PALETTE["red"], 4)
        board.text(x, y, value, 20)
    else:
        blue = sign == "direction"
        board.box(x - 24, y - 24, x + 24, y + 24, PALETTE["blue" if blue else "yellow"], INK, 2)
        dx, dy = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}[value]
        board.arrow((x - 16 * dx, y - 16 * dy), (x + 17 * dx, y + 17 * dy), "white" if blue else INK, 5, 16)
