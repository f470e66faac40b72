"""Embedded stand-in for mm-IMDb: generated films with plot summaries, a drawn poster, a title and genres.

Every genre of a film is told by a sentence in its plots, by a line on its poster, or by both; so the genres that each
input supports are known, and with them the regime of every film. The title alone tells nothing or one genre.
60 films with one to three plot summaries each, seeded. Poster and title views are generated once a film.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

from .drawing import PALETTE, Board
from .draws import Draws
from .paired import Pair, PairedSet, Piece, set_text

CUES = {
    "Action": ("A car chase over rooftops ends in a shoot-out.", "NON-STOP ACTION"),
    "Animation": ("Every frame is a painted cartoon.", "A CARTOON FOR THE BIG SCREEN"),
    "Comedy": ("Each attempt to help goes hilariously wrong.", "THE FUNNIEST FILM OF THE YEAR"),
    "Crime": ("A gang plans to rob the harbour bank.", "THE GANG HAS A PLAN"),
    "Documentary": ("The film maker interviews the people who were there.", "A TRUE RECORD"),
    "Fantasy": ("A wizard hides a sword under the lake.", "A REALM OF MAGIC"),
    "Horror": ("Something in the cellar eats whoever goes down.", "YOU WILL NOT SLEEP"),
    "Musical": ("Whenever words fail them, they burst into song.", "SING AND DANCE"),
    "Romance": ("Two strangers fall in love on the night train.", "A LOVE STORY"),
    "Sci-Fi": ("The crew of a starship wakes up a century late.", "BEYOND THE LAST STAR"),
    "Sport": ("The worst team of the league trains for the cup.", "ONE LAST MATCH"),
    "War": ("A platoon holds a bridge behind enemy lines.", "BEHIND ENEMY LINES"),
    "Western": ("A sheriff waits for the noon train with his last bullet.", "THE FRONTIER HAS NO LAW"),
}
"""Genre -> the sentence that tells it in a plot, the line that tells it on a poster."""
TITLES = ("Marlow", "The Long Way Round", "Seven Letters", "North of Here", "After the Rain", "A Quiet Room", "Orlando",
          "The Blue Door", "Twelve Miles", "Halfway", "The Visitor", "Second Winter")
OPENINGS = ("It begins on an ordinary morning in a small town.", "Years later, everybody remembers that summer.",
            "Nobody had expected the letter.", "The story opens on a rainy evening.")
SKIES = ("blue", "purple", "orange", "green", "red")
KINDS = ("redundant", "unique", "complementary", "complementary")


@lru_cache(maxsize=4)
def load(n: int = 60, seed: int = 42, **_: Any) -> PairedSet:
    return PairedSet("films", tuple(pair for i in range(n) for pair in _film(i, seed)))


def _film(index: int, seed: int) -> list[Pair]:
    draws = Draws("films", seed, index)
    genres = draws.sample(tuple(CUES), draws.integer(2, 3))
    kind = KINDS[index % len(KINDS)]
    told = {"text": genres, "image": genres}
    if kind == "unique":
        told[draws.choice(("text", "image"))] = genres[:1]
    elif kind == "complementary":
        told = {"text": genres[:-1], "image": genres[-1:]}
    title = f"{draws.choice(TITLES)} {index + 1}"
    alone = {name: set_text(said) for name, said in told.items()}
    expected = set_text(genres)
    film = f"film-{index:03d}"
    poster = partial(draw_poster, title, tuple(CUES[g][1] for g in told["image"]), draws.choice(SKIES))
    shared = {"image": (Piece(image=poster),), "title": (Piece(title),)}
    rows = []
    for number in range(draws.integer(1, 3)):
        plot = " ".join([draws.choice(OPENINGS), *(CUES[g][0] for g in draws.shuffled(told["text"]))])
        rows.append(Pair(
            id=f"{film}-p{number}", cluster=film, expected=expected, once=frozenset(shared),
            inputs={"text": (Piece(plot),), **shared},
            facts={"regime": kind, "alone": alone, "sufficient": {k: v == expected for k, v in alone.items()}}))
    return rows


def draw_poster(title: str, lines: tuple[str, ...], sky: str) -> bytes:
    """PNG of a poster: the title over a plain landscape, and its lines below."""
    board = Board(300, 420, PALETTE[sky])
    board.disc(220, 90, 38, (250, 240, 214))
    board.polygon([(0, 300), (90, 210), (170, 280), (240, 230), (300, 290), (300, 420), (0, 420)], (34, 36, 48))
    board.text(150, 160, title.upper(), 21, "white")
    for i, line in enumerate(lines):
        board.text(150, 330 + 26 * i, line, 14, (250, 240, 214))
    return board.png()
