"""IsoBench as published (Fu et al. 2024): ``math_parity`` and ``graph_maxflow``, from JSONL, parquet or a hub folder.

The published label is the key. Labels that the function or the graph contradicts are reported in the set's notes and
never repaired. A row without its picture (the JSONL release has none) gets one drawn from its function or matrix.
"""

from __future__ import annotations

import ast
import json
import math
import operator
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError, near
from .maxflow import draw_graph, graph_pair, maximum_flow
from .paired import Pair, PairedSet, Piece, below, canonical, check_ids, need, read_jsonl
from .parity import LABELS, WINDOW, plot
from .pictures import read_picture

SUBSETS = ("math_parity", "graph_maxflow")
VISIBLE = 0.05
"""A break of symmetry below this share of the range is a few pixels of a plot, or less."""
PARITY = {"space": "choice", "values": LABELS}


def load(path: str | Path, subset: str, n: int | None = None, **_: Any) -> PairedSet:
    """The items of one subset in file order.

    Args:
        path: a ``.jsonl`` or ``.parquet`` file, or a folder that holds the subset's parquet or JSONL files.
        subset: ``math_parity`` or ``graph_maxflow``.

    Raises:
        DataError: no such file, a bad line, label, matrix or function; names the place.
    """
    if subset not in SUBSETS:
        raise DataError(f"isobench: {subset!r} is not a subset{near(subset, SUBSETS)}")
    make = _parity if subset == "math_parity" else _maxflow
    items, notes = [], []
    rows = _rows(Path(path), subset)
    for place, row in rows:
        item, note = make(place, row)
        items.append(item)
        if note:
            notes.append(f"{place}: item {item.id}: {note}")
    drawn = not any(row.get("image") for _, row in rows)  # published pictures are drawn in another way
    return PairedSet(subset, check_ids(items, path)[:n], tuple(notes), readable=drawn)


def _rows(path: Path, subset: str) -> list[tuple[str, Mapping[str, Any]]]:
    files = [path]
    if path.is_dir():
        files = sorted(
            f for f in path.rglob("*") if f.suffix in (".jsonl", ".parquet") and subset in str(f.relative_to(path))
        )
        if not files:
            raise DataError(f"{path}: no .parquet or .jsonl file of {subset} in this folder or below")
    out: list[tuple[str, Mapping[str, Any]]] = []
    for file in files:
        if file.suffix == ".parquet":
            out += [(f"{file}: row {i}", row) for i, row in enumerate(_parquet(file))]
        else:
            out += [(f"{file}:{line}", row) for line, row in read_jsonl(file)]
    return [(place, {"_index": i, **row}) for i, (place, row) in enumerate(out)]


def _parquet(file: Path) -> list[dict[str, Any]]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise DataError(
            f"{file}: reading parquet needs pyarrow; `pip install 'isoprobe[parquet]'`, or give a .jsonl file"
        ) from None
    try:
        return parquet.read_table(file).to_pylist()
    except Exception as error:  # pyarrow has many kinds; all of them mean the file
        raise DataError(f"{file}: not a readable parquet file: {str(error).splitlines()[0]}") from None


def _name(row: Mapping[str, Any], kind: str) -> str:
    number = row.get("sample_index", row.get("id", row["_index"]))
    tail = str(number).rsplit("_", 1)[-1].rsplit("/", 1)[-1]
    return f"{kind}-{int(tail):03d}" if tail.isdigit() else f"{kind}-{tail}"


def _parity(place: str, row: Mapping[str, Any]) -> tuple[Pair, str]:
    label = canonical(need(row, "label", place), PARITY, place)
    latex = str(need(row, "latex", place))
    function = function_of(str(need(row, "code", place)), place)
    name = _name(row, "parity")
    image = _picture(row, place) or partial(plot, function)
    found = parity_of(function)
    note = "" if label in found else f"labelled {label!r} although the function is {found[0]}"
    if len(found) > 1:
        note = f"labelled {label!r}; the function is zero, so both even and odd"
    facts: dict[str, Any] = {"regime": "redundant", "sufficient": {"text": True, "image": True}}
    if note:
        facts["label_defect"] = note
    else:
        facts["alone"] = {"text": label, "image": label}
        if label == "neither" and not row.get("image") and asymmetry(function) < VISIBLE:
            # the formula breaks the symmetry, the plot drawn from it does not show it
            facts |= {"alone": {"text": label}, "sufficient": {"text": True}}
    pair = Pair(id=name, cluster=name, expected=label, facts=facts,
                inputs={"text": (Piece(latex),), "image": (Piece(image=image),)})
    return pair, note


def _maxflow(place: str, row: Mapping[str, Any]) -> tuple[Pair, str]:
    raw = need(row, "adjacency_matrix", place)
    try:
        rows = json.loads(raw) if isinstance(raw, str) else raw
        matrix = tuple(tuple(int(v) for v in r) for r in rows)
    except (ValueError, TypeError):
        raise DataError(f"{place}: adjacency_matrix {str(raw)[:60]!r} is not a list of rows of integers") from None
    n = len(matrix)
    if not n or any(len(r) != n for r in matrix) or any(v < 0 for r in matrix for v in r):
        raise DataError(f"{place}: adjacency_matrix must be square with capacities of 0 or more")
    source, sink = (int(need(row, f"{end}_node", place)) for end in ("source", "sink"))
    if not (0 <= source < n and 0 <= sink < n and source != sink):
        raise DataError(f"{place}: source {source} and sink {sink} must be two of the nodes 0..{n - 1}")
    colours = str(need(row, "source_node_color", place)), str(need(row, "sink_node_color", place))
    label = int(canonical(need(row, "label", place), {"space": "integer"}, place))
    image = _picture(row, place) or partial(draw_graph, matrix, source, sink, colours)
    pair = graph_pair(_name(row, "maxflow"), matrix, source, sink, colours, label, image)
    flow = maximum_flow(matrix, source, sink)
    return pair, "" if flow == label else f"labelled {label} although the maximum flow is {flow}"


def _picture(row: Mapping[str, Any], place: str) -> Callable[[], bytes] | None:
    image = row.get("image")
    if image is None:
        return None
    if isinstance(image, Mapping) and image.get("bytes"):
        return partial(read_picture, image["bytes"], f"{place}: image")
    if isinstance(image, Mapping):
        image = image.get("path")
    if not isinstance(image, str):
        raise DataError(f"{place}: image is {type(image).__name__}; a path or encoded bytes are expected")
    return partial(read_picture, below(Path(place.rsplit(":", 1)[0]).parent, image, place))


_BINARY = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
           ast.Pow: operator.pow}
_CALLS = {"sin": np.sin, "cos": np.cos, "tan": np.tan, "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "Abs": np.abs,
          "abs": np.abs, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh}


def function_of(code: str, place: str) -> Callable[[np.ndarray], np.ndarray]:
    """``f(x) = ...`` as a function of an array, by walking the syntax tree; nothing is executed.

    Raises:
        DataError: anything but arithmetic on x, numbers and a few named functions.
    """
    body = code.split("=", 1)[-1].strip()
    try:
        tree = ast.parse(body, mode="eval").body if len(body) < 5000 else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    if tree is None or not _plain(tree):
        raise DataError(f"{place}: code {code[:60]!r} is not a formula in x")
    return partial(_evaluate, tree)


def _plain(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        known = type(node.op) in _BINARY and _plain(node.left) and _plain(node.right)
        return known and (not isinstance(node.op, ast.Pow) or _small(node.right))
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, (ast.USub, ast.UAdd)) and _plain(node.operand)
    if isinstance(node, ast.Call):
        return (
            isinstance(node.func, ast.Name) and node.func.id in _CALLS and len(node.args) == 1 and _plain(node.args[0])
        )
    if isinstance(node, ast.Name):
        return node.id in ("x", "pi", "E")
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _small(exponent: ast.AST) -> bool:
    """A number of at most 50, so that no power takes long."""
    if isinstance(exponent, ast.UnaryOp):
        return _small(exponent.operand)
    return isinstance(exponent, ast.Constant) and isinstance(exponent.value, int | float) and exponent.value <= 50


def _evaluate(node: ast.AST, x: np.ndarray) -> np.ndarray:
    if isinstance(node, ast.BinOp):
        return _BINARY[type(node.op)](_evaluate(node.left, x), _evaluate(node.right, x))
    if isinstance(node, ast.UnaryOp):
        value = _evaluate(node.operand, x)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.Call):
        return _CALLS[node.func.id](_evaluate(node.args[0], x))  # type: ignore[attr-defined]
    if isinstance(node, ast.Name):
        return {"x": x, "pi": math.pi, "E": math.e}[node.id]  # type: ignore[return-value]
    return np.asarray(node.value, float)  # type: ignore[attr-defined]


def asymmetry(function: Callable[[np.ndarray], np.ndarray]) -> float:
    """The smaller of the two breaks of symmetry in the plotted window, as a share of the plotted range."""
    x = np.linspace(0, WINDOW, 400)
    with np.errstate(all="ignore"):
        right, left = function(x) * np.ones_like(x), function(-x) * np.ones_like(x)
        size = np.nanmax(np.abs([right, left]))
        return float(min(np.nanmax(np.abs(right - left)), np.nanmax(np.abs(right + left))) / (2 * size or 1))


def parity_of(function: Callable[[np.ndarray], np.ndarray]) -> tuple[str, ...]:
    """``("even",)``, ``("odd",)``, ``("neither",)``, or both symmetries for the zero function. Checked on 41 points."""
    x = np.linspace(0.05, 2.05, 41)
    with np.errstate(all="ignore"):
        right, left = function(x) * np.ones_like(x), function(-x) * np.ones_like(x)
    keep = np.isfinite(right) & np.isfinite(left)
    tolerance = 1e-9 * (1 + np.abs(right[keep]))
    found = tuple(name for name, sign in (("even", 1), ("odd", -1))
                  if (np.abs(left[keep] - sign * right[keep]) <= tolerance).all())
    return found or ("neither",)
