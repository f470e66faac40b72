"""Instrument panels: a written log and a drawn panel of six gauges; which gauges are out of their limits?

The answer is a set. Where its evidence lies is known by construction, so the right sufficiency claim is known for
every item (the words are those of the partial information decomposition):

===============  ===================================================  ==================================
regime           the log                                              the panel
===============  ===================================================  ==================================
redundant        every reading with its limits                        every needle with its green band
unique           all of it, or only remarks                           covered, or all of it
complementary    three gauges                                         the other three
synergistic      the limits, or the readings                          the needles, or the bands
===============  ===================================================  ==================================

A gauge counts as out of limits for one input only if that input shows it, so each input alone has a definite answer;
in every regime but the redundant one the two inputs together have a larger one than each insufficient input alone.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any

from .drawing import GREY, INK, PALETTE, Board
from .draws import Draws
from .paired import Pair, PairedSet, Piece, set_text

GAUGES = (("pressure", "bar", 10), ("temperature", "C", 120), ("flow", "L/min", 60),
          ("level", "%", 100), ("vibration", "mm/s", 20), ("current", "A", 50))
NAMES = tuple(name for name, _, _ in GAUGES)
KINDS = ("redundant", "unique-text", "unique-image", "complementary", "synergistic-limits", "synergistic-readings")
PATTERN = (0, 1, 3, 4, 0, 2, 3, 5)
"""Kinds in turn: each of the four regimes twice in eight items."""
PLACES = (0.18, 0.5, 0.82)
REMARKS = ("Filters were changed at the start of the shift.", "The floor was swept and the drain was checked.",
           "Spare seals arrived and were stored.", "The night lamp over the bench was replaced.",
           "A visitor was shown round at noon.", "The radio was tested; reception is good.")


@lru_cache(maxsize=4)
def load(n: int = 160, seed: int = 42, **_: Any) -> PairedSet:
    return PairedSet("panels", tuple(_item(i, KINDS[PATTERN[i % len(PATTERN)]], seed) for i in range(n)), readable=True)


def _item(index: int, kind: str, seed: int) -> Pair:
    draws = Draws("panels", seed, index)
    log, panel = _split(draws, kind)
    low_high, reading, out = {}, {}, _which(draws, kind, log)
    for name, _, full in GAUGES:
        # band and reading take one of three places each, and every place is as likely in as out of limits: the limits
        # alone or the reading alone say nothing. A reading is 6 % of the scale or more away from a limit.
        place = draws.choice(PLACES)
        where = draws.choice([p for p in PLACES if p != place]) if name in out else place
        low, high = ((place + side * draws.number(0.1, 0.12)) * full for side in (-1, 1))
        low_high[name] = (round(low, 1), round(high, 1))
        reading[name] = round((where + draws.number(-0.04, 0.04)) * full, 1)
    answer = set_text(out)
    alone = {
        "text": set_text(o for o in out if log[o] == "all"),
        "image": set_text(o for o in out if panel[o] == "all"),
    }
    remark = draws.sample(REMARKS, 2)
    return Pair(
        id=f"panels-{index:03d}", cluster=f"panels-{index:03d}", expected=answer,
        inputs={"text": (Piece(_log_text(log, low_high, reading, remark)),),
                "image": (Piece(image=partial(draw_panel, tuple(panel.items()), tuple(low_high.items()),
                                              tuple(reading.items()))),)},
        facts={"regime": kind.split("-")[0], "kind": kind, "alone": alone,
               "sufficient": {"text": _settles(log), "image": _settles(panel)}},
    )


def _split(draws: Draws, kind: str) -> tuple[dict[str, str], dict[str, str]]:
    """What the log and the panel show of each gauge: ``all``, ``limits``, ``reading`` or ``nothing``."""
    shown = {"redundant": ("all", "all"), "unique-text": ("all", "nothing"), "unique-image": ("nothing", "all"),
             "synergistic-limits": ("limits", "reading"), "synergistic-readings": ("reading", "limits")}
    if kind != "complementary":
        return tuple(dict.fromkeys(NAMES, what) for what in shown[kind])  # type: ignore[return-value]
    logged = set(draws.sample(NAMES, 3))
    return ({n: "all" if n in logged else "nothing" for n in NAMES},
            {n: "nothing" if n in logged else "all" for n in NAMES})


def _which(draws: Draws, kind: str, log: dict[str, str]) -> list[str]:
    """The gauges that are out of limits; in the complementary regime at least one on either side."""
    if kind != "complementary":
        return draws.sample(NAMES, draws.integer(0 if kind == "redundant" else 1, 3))
    logged = [n for n in NAMES if log[n] == "all"]
    drawn = [n for n in NAMES if log[n] != "all"]
    return draws.sample(logged, draws.integer(1, 2)) + draws.sample(drawn, draws.integer(1, 2))


def _settles(shown: dict[str, str]) -> bool:
    return all(what == "all" for what in shown.values())


def _log_text(log: dict[str, str], limits: dict, reading: dict, remarks: list[str]) -> str:
    lines = ["Shift log"]
    for name, unit, _ in GAUGES:
        low, high = limits[name]
        if log[name] == "all":
            lines.append(f"{name}: reading {reading[name]} {unit}, limits {low} to {high} {unit}")
        elif log[name] == "limits":
            lines.append(f"{name}: limits {low} to {high} {unit}")
        elif log[name] == "reading":
            lines.append(f"{name}: reading {reading[name]} {unit}")
        elif "all" in log.values():
            lines.append(f"{name}: not logged")
    return "\n".join(lines + [f"Remark: {remark}" for remark in remarks])


def draw_panel(shown: tuple, limits: tuple, reading: tuple) -> bytes:
    """PNG of six dials: scale, green band between the limits, needle; a gauge that is not shown is a covered dial."""
    what, band, value = dict(shown), dict(limits), dict(reading)
    board = Board(540, 400, (246, 246, 248))
    for i, (name, unit, full) in enumerate(GAUGES):
        _dial(board, 92 + 178 * (i % 3), 96 + 198 * (i // 3), name, unit, full, what[name], band[name], value[name])
    return board.png()


def _dial(board: Board, x: float, y: float, name: str, unit: str, full: float, what: str, band, value: float) -> None:
    board.disc(x, y, 76, "white", INK, 2)
    board.text(x, y + 92, f"{name} ({unit})", 15)
    if what == "nothing":
        board.disc(x, y, 70, (196, 196, 202))
        board.text(x, y, "covered", 15)
        return
    if what in ("all", "limits"):
        start, end = (_angle(b / full) for b in band)
        board.arc(x, y, 66, start, end, PALETTE["green"], 9)
    for tick in range(11):
        angle = math.radians(_angle(tick / 10))
        inner = 50 if tick % 2 == 0 else 55
        board.line(
            [(x + r * math.cos(angle), y + r * math.sin(angle)) for r in (inner, 60)], INK if tick % 2 == 0 else GREY, 1
        )
        if tick % 2 == 0:
            board.text(x + 39 * math.cos(angle), y + 39 * math.sin(angle), f"{full * tick / 10:g}", 10)
    if what in ("all", "reading"):
        angle = math.radians(_angle(value / full))
        board.line([(x, y), (x + 62 * math.cos(angle), y + 62 * math.sin(angle))], PALETTE["red"], 3)
        board.disc(x, y, 5, INK)


def _angle(share: float) -> float:
    """Degrees clockwise from three o'clock; the scale runs from lower left over the top to lower right."""
    return 150 + 240 * share
