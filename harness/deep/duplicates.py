"""Instances that show the same, or so nearly the same that they hardly count twice."""

from __future__ import annotations

import io
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..build import family
from ..datasets.paired import Pair, Piece
from ..errors import DataError
from ..spec import Spec
from ..spectrum import Spectrum
from .survey import Item

NEAR = 1.0
"""Percent: spectra closer than this, as root mean square over the larger peak-to-peak range, are near-duplicates."""
THUMBNAIL = 64
"""Pixels a side at which pictures are compared."""
USUAL = 5.0
"""Percent: pictures closer than this share of the usual (median) distance between two of them are near-duplicates."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """The nearest pair of different instances of one task, or of one input of a paired suite.

    Attributes:
        correlation: largest Pearson correlation, None for texts.
        distance: smallest distance in percent; None for texts.
        near: pairs closer than the limit, ``same`` of them identical.
        pair: ids of the nearest two, or of two that are identical.
        differ: identical pairs that have different answers.
    """

    task: str
    what: str
    count: int
    correlation: float | None
    distance: float | None
    near: int
    same: int
    pair: tuple[str, ...] = ()
    differ: int = 0


def likenesses(spec: Spec, asked: Container[str]) -> list[Likeness]:
    """Near-duplicates among the evidence of the instances with these ids."""
    built = family(spec)
    if spec.family == "paired":
        return list(_paired(spec, [p for p in built.data.items if p.id in asked or p.cluster in asked]))
    instances = [instance for instance, _ in built.instances.values() if instance.id in asked]
    return [spectra(task.kind, [(i.id, s) for i in instances if i.task == task.kind for s in i.evidence])
            for task in spec.tasks]


def spectra(task: str, shown: Sequence[tuple[str, Spectrum]]) -> Likeness:
    """Of (instance id, spectrum), all on one grid."""
    values = np.array([s.response for _, s in shown])
    ids = np.array([name for name, _ in shown])
    if len(set(ids)) < 2:
        return Likeness(task, "spectra", len(ids), None, None, 0, 0)
    spread = np.ptp(values, axis=1)
    centred = values - values.mean(1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = centred / np.linalg.norm(centred, axis=1, keepdims=True)
        correlation = np.nan_to_num(unit @ unit.T)
        rms = np.sqrt(np.maximum(_squares(values), 0) / values.shape[1])
        distance = np.nan_to_num(100 * rms / np.maximum(spread[:, None], spread), nan=0.0)
    other = np.triu(ids[:, None] != ids, 1)
    i, j = np.unravel_index(np.where(other, distance, np.inf).argmin(), distance.shape)
    return Likeness(task, "spectra", len(ids), float(correlation[other].max()), float(distance[i, j]),
                    int((distance[other] < NEAR).sum()), int((distance[other] == 0).sum()), (str(ids[i]), str(ids[j])))


def _squares(values: np.ndarray) -> np.ndarray:
    """(n, n) squared distances, exactly zero for equal rows."""
    return np.array([((values - row) ** 2).sum(1) for row in values])


def _paired(spec: Spec, pairs: Sequence[Pair]) -> Iterator[Likeness]:
    task = spec.tasks[0].kind
    for name, declared in spec.data["inputs"].items():
        once: dict[str, Pair] = {}
        for pair in pairs:
            once.setdefault(pair.cluster if name in pair.once else pair.id, pair)
        chosen = list(once.values())
        content = [tuple(_content(piece) for piece in pair.inputs[name]) for pair in chosen]
        same = list(_equal(content))
        pictures = [next((c for c in parts if isinstance(c, bytes)), b"") for parts in content]
        distance, near, pair = _nearest(pictures) if all(pictures) else (None, len(same), ())
        at = same[0] if same else pair
        yield Likeness(task, declared.get("name", name), len(chosen), None, distance, max(near, len(same)), len(same),
                       tuple(chosen[k].id for k in at), sum(chosen[a].expected != chosen[b].expected for a, b in same))


def _content(piece: Piece) -> str | bytes:
    return piece.image() if piece.image else " ".join(piece.text.split()).casefold()


def _equal(content: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Pairs of places that hold the same."""
    places: dict[Any, list[int]] = {}
    for k, what in enumerate(content):
        yield from ((earlier, k) for earlier in places.setdefault(what, []))
        places[what].append(k)


def _nearest(pictures: Sequence[bytes]) -> tuple[float | None, int, tuple[int, int] | tuple[()]]:
    """Smallest distance in percent of the usual one, pairs below the limit, and the nearest pair."""
    if len(pictures) < 2:
        return None, 0, ()
    flat = np.array([thumbnail(p) for p in pictures])
    rms = np.sqrt(_squares(flat) / flat.shape[1])
    other = np.triu(np.ones(rms.shape, bool), 1)
    i, j = np.unravel_index(np.where(other, rms, np.inf).argmin(), rms.shape)
    usual = float(np.median(rms[other])) or 1.0
    return 100 * float(rms[i, j]) / usual, int((100 * rms[other] / usual < USUAL).sum()), (int(i), int(j))


def thumbnail(picture: bytes) -> np.ndarray:
    """Grey values (n,) of a picture reduced to a small square.

    Raises:
        DataError: the picture cannot be read.
    """
    from PIL import Image

    try:
        with Image.open(io.BytesIO(picture)) as image:
            grey = image.convert("L").resize((THUMBNAIL, THUMBNAIL), Image.Resampling.BOX)
    except OSError as error:
        raise DataError(f"a picture cannot be read: {error}") from None
    return np.asarray(grey, float).ravel()


def contradictions(items: Sequence[Item]) -> list[tuple[str, str]]:
    """Pairs of requests that ask the same, byte for byte, and expect different answers.

    One input of a pair may well be shared by items of different answers, so only complete requests count.
    """
    seen: dict[str, Item] = {}
    out = []
    for item in items:
        if item.shared or item.arm not in ("", "both"):
            continue
        first = seen.setdefault(item.sha256, item)
        if first.expected != item.expected:
            out.append((str(first.key), str(item.key)))
    return out
