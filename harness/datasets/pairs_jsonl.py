"""A user's own paired data, with no Python: one JSON object a line, two inputs, one answer.

The spec names the columns of the inputs and the answer space. A text input is a string; an image input is a path
relative to the file, or a list of such paths. Optional columns: ``id``, ``cluster``, ``question``, ``options`` (an
object key -> text), ``regime``, ``golden`` (an input's name), ``alone`` (input -> answer), ``sufficient`` (input ->
true or false) and, for the prompt's placeholders, any other column that holds a string or a number. In these, null is as
good as no column.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import DataError, near
from .paired import REGIMES, Pair, PairedSet, Piece, below, canonical, check_ids, check_options, need, read_jsonl
from .pictures import read_picture

KNOWN = ("id", "cluster", "question", "options", "answer", "regime", "golden", "alone", "sufficient")


def load(
    path: str | Path, inputs: Mapping[str, str], answer: Mapping[str, Any], n: int | None = None, **_: Any
) -> PairedSet:
    """Items in file order.

    Args:
        inputs: name of an input (also its column) -> ``text`` or ``image``.
        answer: the answer space (see :func:`harness.datasets.paired.canonical`).

    Raises:
        DataError: names file and line.
    """
    path = Path(path)
    rows = read_jsonl(path)
    items = [_item(f"{path}:{line}", number, row, path.parent, inputs, answer) for number, (line, row) in enumerate(rows)]
    return PairedSet(path.stem, check_ids(items, path, [line for line, _ in rows])[:n])


def _item(place: str, number: int, row: dict[str, Any], folder: Path, inputs: Mapping[str, str],
          answer: Mapping[str, Any]) -> Pair:
    name = f"{number:04d}" if row.get("id") is None else _text(row, "id", place)
    options: tuple[tuple[str, str], ...] = ()
    if row.get("options") is not None:
        if not isinstance(row["options"], dict) or len(row["options"]) < 2:
            raise DataError(f"{place}: options: {row['options']!r:.60} is no object of two or more keys with their texts")
        options = check_options(row["options"], place)
        answer = {**answer, "values": [key for key, _ in options]}
    facts: dict[str, Any] = {"regime": row.get("regime") or ""}
    if facts["regime"] and facts["regime"] not in REGIMES:
        raise DataError(f"{place}: regime {facts['regime']!r} is unknown{near(facts['regime'], REGIMES)}")
    for column, read in (("alone", partial(canonical, space=answer)), ("sufficient", _flag)):
        if row.get(column) is not None:
            _names(row[column], inputs, f"{place}: {column}")
            facts[column] = {key: read(value, place=f"{place}: {column}.{key}") for key, value in row[column].items()}
    if row.get("golden") is not None:
        if not isinstance(row["golden"], str):
            raise DataError(f"{place}: golden: {row['golden']!r} is not the name of an input")
        _names({row["golden"]: 1} if row["golden"] else {}, inputs, f"{place}: golden")
        facts["golden"] = row["golden"]
    fields = {k: _text(row, k, place) for k, v in row.items()
              if k not in KNOWN and k not in inputs and isinstance(v, (str, int, float))}
    return Pair(
        id=name, cluster=_text(row, "cluster", place) or name, expected=canonical(need(row, "answer", place), answer, place),
        inputs={key: _pieces(need(row, key, place), kind, key, folder, place) for key, kind in inputs.items()},
        question=_text(row, "question", place), options=options, fields=fields, facts=facts)


def _text(row: Mapping[str, Any], column: str, place: str) -> str:
    """The text or number of a column, "" where it is null or left out."""
    value = row.get(column)
    if value is None:
        return ""
    if not isinstance(value, (str, int, float)) or (isinstance(value, float) and not math.isfinite(value)):
        raise DataError(f"{place}: {column}: {value!r:.60} is neither a text nor a number")
    return str(value)


def _flag(value: Any, place: str) -> bool:
    if not isinstance(value, bool):  # bool("false") is True
        raise DataError(f"{place}: {value!r} is neither true nor false")
    return value


def _names(value: Any, inputs: Mapping[str, str], place: str) -> None:
    if not isinstance(value, dict):
        raise DataError(f"{place}: {value!r:.60} is no object input -> value")
    for name in value:
        if name not in inputs:
            raise DataError(f"{place}: {name!r} is no input{near(name, inputs)}")


def _pieces(value: Any, kind: str, column: str, folder: Path, place: str) -> tuple[Piece, ...]:
    if kind == "text":
        if not isinstance(value, str) or not value.strip():
            raise DataError(f"{place}: {column}: {value!r:.60} is not a text, or an empty one")
        return (Piece(value),)
    paths = value if isinstance(value, list) else [value]
    if not paths or not all(isinstance(p, str) and p for p in paths):
        raise DataError(f"{place}: {column}: {value!r:.60} is neither the path of a picture nor a list of them")
    files = [below(folder, p, f"{place}: {column}") for p in paths]
    for file in files:
        if not file.is_file():
            raise DataError(f"{place}: {column}: no such picture {file}")
    return tuple(Piece(image=partial(read_picture, file, f"{place}: {column}: {file}")) for file in files)
