"""GoldenView as published (Wang et al. 2026): driving questions on six cameras, one of them annotated as decisive.

The six cameras of a question are split into Set A and Set B by a hash that sees neither the annotation nor the answer
(modality paper, appendix B.3). Single-set conditions name the withheld cameras.
"""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import DataError, near
from .paired import Pair, PairedSet, Piece, below, canonical, check_ids, check_options, need, read_jsonl
from .pictures import read_picture

CAMERAS = ("CAM_FRONT", "CAM_FRONT_RIGHT", "CAM_BACK_RIGHT", "CAM_BACK", "CAM_BACK_LEFT", "CAM_FRONT_LEFT")
"""Canonical order: clockwise."""
NONE = "NONE_OF_THE_ABOVE"
GROUPS = ("causality", "counterfactual", "intent_prediction")
LETTERS = ("A", "B", "C", "D")
SETS = {"set_a": "Set A", "set_b": "Set B"}


def partition(question_id: str, seed: int = 42) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Set A and Set B: cameras ranked by SHA-256 of ``seed:question id:camera``, split three and three.

    Within a set the cameras stand in canonical clockwise order.
    """
    ranked = sorted(CAMERAS, key=lambda c: hashlib.sha256(f"{seed}:{question_id}:{c}".encode()).hexdigest())
    return tuple(tuple(c for c in CAMERAS if c in half) for half in (ranked[:3], ranked[3:]))  # type: ignore[return-value]


def load(
    path: str | Path, images: str | Path | None = None, seed: int = 42, n: int | None = None, **_: Any
) -> PairedSet:
    """Items with inputs ``set_a`` and ``set_b``, cluster = scene.

    Args:
        path: ``eval.jsonl``.
        images: the nuScenes folder that the views' paths are relative to; default the folder of ``path``.

    Raises:
        DataError: a bad line, camera, group, option or answer; names file and line.
    """
    path = Path(path)
    root = Path(images) if images else path.parent
    items = [_item(f"{path}:{line}", row, root, seed) for line, row in read_jsonl(path)]
    return PairedSet("goldenview", check_ids(items, path)[:n])


def _item(place: str, row: dict[str, Any], root: Path, seed: int) -> Pair:
    name = str(need(row, "question_id", place))
    group = need(row, "question_group", place)
    if group not in GROUPS:
        raise DataError(f"{place}: question_group {group!r} is unknown{near(group, GROUPS)}")
    options = need(row, "options", place)
    if not isinstance(options, dict) or tuple(sorted(options)) != LETTERS:
        raise DataError(f"{place}: options must be an object with the keys A, B, C and D")
    views = need(row, "views", place)
    for camera in CAMERAS:
        if not isinstance(views, dict) or not views.get(camera):
            raise DataError(f"{place}: views has no {camera}; all six cameras are needed")
    pieces = {camera: partial(read_picture, below(root, views[camera], f"{place}: {camera}")) for camera in CAMERAS}
    return view_pair(
        name, str(need(row, "scene_name", place)), str(need(row, "question", place)),
        check_options({k: options[k] for k in LETTERS}, place),
        canonical(need(row, "gold_answer_id", place), {"space": "choice", "values": LETTERS}, place),
        str(need(row, "golden_view", place)), pieces, place, seed, {"group": group})


def view_pair(name: str, scene: str, question: str, options: tuple[tuple[str, str], ...], answer: str, golden: str,
              pictures: dict[str, Any], place: str, seed: int, facts: dict[str, Any]) -> Pair:
    """The item of one question on six cameras. ``golden`` is a camera or ``NONE_OF_THE_ABOVE``."""
    if golden not in (*CAMERAS, NONE):
        raise DataError(f"{place}: golden_view {golden!r} is no camera{near(golden, (*CAMERAS, NONE))}")
    halves = dict(zip(SETS, partition(name, seed), strict=True))
    inputs = {key: tuple(piece for camera in halves[key]
                         for piece in (Piece(f"{SETS[key]} - {camera}:"), Piece(image=pictures[camera])))
              for key in SETS}
    inside = next((key for key in SETS if golden in halves[key]), "")
    return Pair(
        id=name, cluster=scene, expected=answer, inputs=inputs, question=question, options=options, withheld=halves,
        facts={"regime": "unique" if inside else "mixed", "golden": inside, "decisive": golden, **facts})
