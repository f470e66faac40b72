"""What a request shows to somebody who does not read the evidence, and its values as bins."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from ..probe import Request

NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")
BINS = 8
"""Numbers of more distinct values than this are cut at their quantiles."""
CATEGORIES = 24
"""Further texts, and texts that occur once, are one category: 'another'."""

SHOWN = ("option order", "question", "text length", "rows", "image pixels")
"""Features that a model could use."""
NUMBER_OF_ID, FILE_SIZE = "id number", "file size"
HIDDEN = (FILE_SIZE, NUMBER_OF_ID)
"""Never shown to a model: the bytes of its pictures, and the number in the id, which follows the order of drawing."""
TOGETHER = "all together"


def surface(request: Request) -> dict[str, tuple[float | str, ...]]:
    """Feature -> its values; a number is binned, a text is a category.

    ``question`` is its text, and the numbers in it: queried interval, threshold, window. ``rows`` are lines of evidence.
    """
    number = re.search(r"(\d+)\D*$", request.key.instance)
    n = int(number[1]) if number else 0
    return {
        "option order": ("|".join(o.key for o in request.options),),
        "question": (request.question, *(float(x) for x in NUMBER.findall(request.question))),
        "text length": (float(len(request.system) + len(request.text)),),
        "rows": (float(request.evidence_text.count("\n") + 1),),
        "image pixels": ("+".join(pixels(p.image) for p in request.images),),
        FILE_SIZE: (float(sum(len(p.image) for p in request.images)),),
        NUMBER_OF_ID: (float(n), *(f"{n % k} of {k}" for k in (2, 3, 4, 5, 6))),
    }


def pixels(image: bytes) -> str:
    """``800x500`` of a PNG, from its header; "" for anything else."""
    if image[:8] != b"\x89PNG\r\n\x1a\n":
        return ""
    return "x".join(str(int.from_bytes(image[at : at + 4], "big")) for at in (16, 20))


def binned(rows: Sequence[Sequence[float | str]]) -> list[np.ndarray]:
    """Columns of small integers (n,), constant ones left out. Rows of unequal length share their first columns."""
    if not rows:
        return []
    columns = [_bins([r[c] for r in rows]) for c in range(min(map(len, rows)))]
    return [c for c in columns if c.max() > 0]


def _bins(values: Sequence[float | str]) -> np.ndarray:
    if isinstance(values[0], str):
        common = [v for v, n in Counter(values).most_common(CATEGORIES) if n > 1]
        place = {v: i + 1 for i, v in enumerate(common)}
        out = np.array([place.get(v, 0) for v in values])
    else:
        numbers = np.asarray(values, float)
        distinct = np.unique(numbers)
        if len(distinct) <= BINS:
            edges = distinct
        else:
            edges = np.unique(np.quantile(numbers, np.arange(BINS) / BINS))
        out = np.searchsorted(edges, numbers, side="right")
    return np.unique(out, return_inverse=True)[1]
