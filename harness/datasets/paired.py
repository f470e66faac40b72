"""Items with two inputs: what the modality suites show, withhold and restore.

A :class:`Pair` is one original task on one film, function, graph, panel or scene. Its ``inputs`` are named (``text``
and ``image``, or ``set_a`` and ``set_b``); a view supplies some of them. Pictures are drawn or decoded only when a
request is built, never while items are collected.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import DataError, near

REGIMES = ("redundant", "unique", "complementary", "synergistic", "mixed")
"""Where the answer's evidence lies (modality paper, section 4; the words of the partial information decomposition)."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of an input: a text, or a picture made when it is asked for (``image()`` gives PNG bytes)."""

    text: str = ""
    image: Callable[[], bytes] | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """One item.

    Attributes:
        id: unique in its set; the instance id.
        cluster: film, scene, graph: items of one cluster are not independent.
        expected: canonical right answer (see :func:`canonical`).
        inputs: name -> pieces, in the order of the set's inputs.
        once: inputs that all items of a cluster share, so that a view of them is generated once a cluster.
        fields: what the prompt's placeholders stand for on this item (``source``, ``sink``, ...).
        question, options: multiple-choice question shown last in the user message, or empty.
        facts: columns for the outcome: ``regime``, ``alone`` (input -> answer that the input alone supports),
            ``sufficient`` (input -> bool), ``golden`` (the input that holds the annotated evidence). Builtins only.
        withheld: input -> what a notice calls its content when it is not supplied (GoldenView names the cameras).
    """

    id: str
    cluster: str
    expected: str
    inputs: Mapping[str, tuple[Piece, ...]]
    once: frozenset[str] = frozenset()
    fields: Mapping[str, str] = field(default_factory=dict)
    question: str = ""
    options: tuple[tuple[str, str], ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    withheld: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PairedSet:
    """All items of one set, in a fixed order.

    ``notes`` are defects of the published data, reported and not repaired. ``readable`` sets can be answered by a
    program that reads their texts and pictures, so the oracle has to agree with every answer known by construction.
    ``kind`` is ``simulated`` for what this package generates, else ``published`` or ``own``.
    """

    name: str
    items: tuple[Pair, ...]
    notes: tuple[str, ...] = ()
    readable: bool = False
    kind: str = "own"
    licence: str = "the user's own"
    source: str = ""


def canonical(answer: Any, space: Mapping[str, Any], place: str) -> str:
    """The one string that stands for an answer: an option key, an integer's digits, a sorted compact JSON array.

    Args:
        space: ``{"space": "choice", "values": [...]}``, ``{"space": "integer"}`` or
            ``{"space": "set", "members": [...]}``.
        place: where the answer stands, for the message.

    Raises:
        DataError: the answer does not lie in the space.
    """
    kind = space["space"]
    if kind == "integer":
        if isinstance(answer, bool) or not isinstance(answer, (int, str)) or not _is_integer(str(answer)):
            raise DataError(f"{place}: answer {answer!r} is not an integer")
        return str(int(answer))
    if kind == "choice":
        if str(answer) not in space["values"]:
            raise DataError(f"{place}: answer {answer!r} is not offered{near(answer, space['values'])}")
        return str(answer)
    if isinstance(answer, str) or not isinstance(answer, Iterable):
        raise DataError(f"{place}: answer {answer!r} is not a list of {space.get('noun', 'members')}")
    members = list(dict.fromkeys(map(str, answer)))
    for member in members:
        if member not in space["members"]:
            raise DataError(f"{place}: {member!r} is not a known {space.get('noun', 'member')}"
                            f"{near(member, space['members'])}")
    if len(members) < space.get("min", 0):
        raise DataError(f"{place}: the answer is empty; at least {space['min']} is needed")
    return set_text(members)


def set_text(members: Iterable[str]) -> str:
    """Canonical form of a set-valued answer: sorted, compact, e.g. ``["Crime","Drama"]``."""
    return json.dumps(sorted(set(members)), ensure_ascii=False, separators=(",", ":"))


def _is_integer(text: str) -> bool:
    return text.isascii() and text.removeprefix("-").isdigit() and len(text) <= 18


def read_jsonl(path: Path) -> list[tuple[int, dict[str, Any]]]:
    """``(line number, object)`` of every non-blank line.

    Raises:
        DataError: no such file, not UTF-8, or a line that is not a JSON object; names file and line.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8") from None
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            what = getattr(error, "msg", "nested too deeply" if isinstance(error, RecursionError) else str(error))
            raise DataError(f"{path}:{number}: not JSON: {what}; every line must be one JSON object") from None
        if not isinstance(row, dict):
            raise DataError(f"{path}:{number}: {type(row).__name__} instead of a JSON object")
        rows.append((number, row))
    if not rows:
        raise DataError(f"{path}: no items; one JSON object a line is needed")
    return rows


def need(row: Mapping[str, Any], name: str, place: str) -> Any:
    """``row[name]``. Raises DataError when it is missing or null."""
    if row.get(name) is None:
        raise DataError(f"{place}: {name!r} is missing{near(name, row)}")
    return row[name]


def below(folder: Path, name: object, place: str) -> Path:
    """The file that a data file names, relative to ``folder``.

    A spec is the user's own and may name any path; a data file may be somebody else's, and what it names is sent to models.

    Raises:
        DataError: the path is absolute or leaves the folder.
    """
    text = str(name)
    if "\0" in text or Path(text).is_absolute() or Path(text).drive or ".." in Path(text.replace("\\", "/")).parts:
        raise DataError(f"{place}: the path {text!r:.200} leaves the folder {folder}; only files below it are read")
    return folder / text


LONGEST_ID = 200


def check_ids(items: Sequence[Pair], source: object, lines: Sequence[int] = ()) -> tuple[Pair, ...]:
    """The items as a tuple; ``lines`` are theirs in the file, where they have one each.

    Raises:
        DataError: an id that occurs twice or cannot stand in a request key.
    """
    seen: dict[str, int] = {}
    for number, item in enumerate(items):
        place = f"{source}:{lines[number]}" if lines else f"{source}: item {number + 1}"
        if item.id in seen:
            first = f"line {lines[seen[item.id]]}" if lines else f"item {seen[item.id] + 1}"
            raise DataError(f"{place}: id {item.id!r} is the id of {first} already; ids must differ")
        if not item.id or any(c in "/\\" or c.isspace() or not c.isprintable() for c in item.id):
            raise DataError(f"{place}: id {item.id!r:.200} is empty or holds '/' or a backslash, a space or "
                            "a control character")
        if len(item.id) > LONGEST_ID or item.id in (".", ".."):
            raise DataError(f"{place}: id {item.id!r:.60} cannot be a name; at most {LONGEST_ID} characters")
        seen[item.id] = number
    return tuple(items)


def check_options(options: Mapping[str, str], place: str) -> tuple[tuple[str, str], ...]:
    """Options as (key, text). Raises DataError when two of them say the same or one is empty."""
    seen: dict[str, str] = {}
    for key, text in options.items():
        if not isinstance(text, (str, int, float)):
            raise DataError(f"{place}: option {key!r}: {text!r:.60} is neither a text nor a number")
        said = " ".join(str(text).split()).casefold()
        if not said:
            raise DataError(f"{place}: option {key!r} is empty")
        if said in seen:
            raise DataError(f"{place}: options {seen[said]!r} and {key!r} both say {text!r}; one of them must differ")
        seen[said] = key
    return tuple((str(k), str(v)) for k, v in options.items())
