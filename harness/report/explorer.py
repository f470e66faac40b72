"""The data behind the explorer of ``report.html``: one row a request, every text once, pictures by number.

Columns of few values are coded as ``{"of": values, "at": indices}``. All of it is data: the page sets it as text and
never as markup.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from PIL import Image

from ..outcome import Outcome
from ..rows import Rows
from . import explain
from .evidence import Evidence

CODED = (
    "spec",
    "task",
    "instance",
    "variant",
    "view",
    "template",
    "model",
    "relation",
    "status",
    "choice",
    "expected",
    "modality",
    "unit",
    "wording",
    "cut",
    "readout",
)
REPLY_LIMIT = 6_000
_LOSSY_SIDE = 720


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture for the page. ``exact`` is false where colours or pixels were given up to save room."""

    data: bytes
    media_type: str
    exact: bool


class _Coder:
    """Numbers values in the order in which they come."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._at: dict[Any, int] = {}

    def __call__(self, value: Any) -> int:
        key = value if isinstance(value, str | int | float | None) else json.dumps(value, sort_keys=True)
        if key not in self._at:
            self._at[key] = len(self.values)
            self.values.append(value)
        return self._at[key]


def data(rows: Rows, evidence: Evidence) -> tuple[dict[str, Any], list[str]]:
    """What the page's script reads, and the hashes of the pictures in the order of their numbers."""
    outcomes = rows.outcomes
    out: dict[str, Any] = {"n": len(outcomes)}
    for column in CODED:
        coder = _Coder()
        at = [coder(getattr(o, column)) for o in outcomes]
        out[column] = {"of": coder.values, "at": at}
    out["repeat"] = [o.repeat for o in outcomes]
    out["core"] = [int(o.core) for o in outcomes]
    out["right"] = [-1 if o.status != "usable" else int(bool(o.correct)) for o in outcomes]
    out["abstained"] = [-1 if o.status != "usable" else int(bool(o.abstained)) for o in outcomes]
    out["confidence"] = [None if o.confidence is None else round(o.confidence, 3) for o in outcomes]
    options = _Coder()
    out["options"] = {"at": [options(list(o.options)) for o in outcomes], "of": options.values}
    out["probabilities"] = [_shares(o) for o in outcomes]
    out["more"] = [_more(o, evidence) for o in outcomes]
    out |= _requests(outcomes, evidence)
    pictures = out.pop("pictures")
    out |= _derivations(outcomes, evidence)
    return out, pictures


def _shares(o: Outcome) -> list[float] | None:
    if not o.probabilities:
        return None
    names = o.options or sorted(o.probabilities)
    return [round(o.probabilities.get(k, 0.0), 3) for k in names]


def _more(o: Outcome, evidence: Evidence) -> dict[str, Any]:
    """Columns that few rows fill."""
    found: dict[str, Any] = {}
    for name in (
        "error",
        "provider",
        "served_model",
        "finish_reason",
        "tokens_in",
        "tokens_out",
        "cost_usd",
        "latency_s",
        "probability_kind",
        "claims",
        "missing",
        "near_misses",
        "direction",
        "deletion",
        "decoy",
        "regime",
    ):
        value = getattr(o, name)
        if value not in ("", None, 0, [], {}):
            found[name] = round(value, 6) if isinstance(value, float) else value
    notes = {k: v for k, v in o.notes.items() if k not in ("from_store",)}
    if notes:
        found["notes"] = json.dumps(notes, ensure_ascii=False, sort_keys=True)[:1000]
    for name in ("span_nm", "remove_nm", "keep_nm", "window_nm", "arm", "golden"):
        if o.facts.get(name):
            found[name] = o.facts[name]
    if words := [text for text in evidence.replies.get(o.key, ()) if text]:
        found["reply"] = [
            text if len(text) <= REPLY_LIMIT else f"{text[:REPLY_LIMIT]}\n… ({len(text):,} characters)"
            for text in words
        ]
    return found


def _requests(outcomes: Sequence[Outcome], evidence: Evidence) -> dict[str, Any]:
    """Contents by number, with texts and pictures by number; -1 where the content was not kept."""
    texts, pictures, at = _Coder(), _Coder(), _Coder()
    contents: list[dict[str, Any]] = []
    numbers = []
    for o in outcomes:
        content = evidence.requests.get(o.request_sha256)
        if content is None:
            numbers.append(-1)
            continue
        number = at(o.request_sha256)
        numbers.append(number)
        if number < len(contents):
            continue
        parts = [
            ["i", pictures(p["image"])] if "image" in p else ["t", texts(evidence.texts.get(p.get("text", ""), ""))]
            for p in content.get("evidence", ())
        ]
        contents.append(
            {
                "e": parts,
                "s": texts(content.get("system", "")),
                "p": texts(content.get("prompt", "")),
                "q": texts(content.get("question", "")),
                "o": content.get("options", []),
            }
        )
    return {
        "request": numbers,
        "requests": contents,
        "texts": texts.values,
        "pictures": pictures.values,
        "sha256": at.values,
    }


def _derivations(outcomes: Sequence[Outcome], evidence: Evidence) -> dict[str, Any]:
    """Sentences and numbers by variant, from the most legible table that any model was shown of it."""
    best: dict[tuple[str, ...], tuple[int, Outcome]] = {}
    for o in outcomes:
        if o.modality != "table" or o.request_sha256 not in evidence.requests:
            continue
        rank = ("nm", "um", "eV").index(o.unit) if o.unit in ("nm", "um", "eV") else 3
        complete = not o.facts.get("remove_nm") and not o.facts.get("keep_nm")
        for place in [_variant(o)] + ([_instance(o)] if complete else []):
            rank_here = rank + (0 if complete else 10)
            if place not in best or rank_here < best[place][0]:
                best[place] = rank_here, o
    parsed: dict[tuple[str, str], explain.Series | None] = {}
    series, sentences = _Coder(), _Coder()
    derived, shown = [], []
    for o in outcomes:
        cut = bool(o.facts.get("remove_nm") or o.facts.get("keep_nm"))
        source = best.get(_instance(o) if cut else _variant(o)) or best.get(_variant(o))
        numbers = None
        if source:
            text, unit = evidence.evidence_text(source[1].request_sha256), source[1].unit
            if (text, unit) not in parsed:
                parsed[text, unit] = explain.series(text, unit)
            numbers = parsed[text, unit]
        question = str(evidence.requests.get(o.request_sha256, {}).get("question", ""))
        derived.append(sentences(explain.derivation(o, question, numbers)))
        shown.append(
            -1
            if numbers is None
            else series(
                {
                    "x": list(numbers.nm),
                    "names": list(numbers.names),
                    "y": [list(v) for v in numbers.values],
                    "of": numbers.quantity,
                }
            )
        )
    return {"derived": {"of": sentences.values, "at": derived}, "series": {"of": series.values, "at": shown}}


def _instance(o: Outcome) -> tuple[str, ...]:
    return o.spec, o.task, o.instance


def _variant(o: Outcome) -> tuple[str, ...]:
    return o.spec, o.task, o.instance, o.variant


def pictures(hashes: Iterable[str], files: Mapping[str, Path], room: int) -> list[Picture | None]:
    """The pictures in order; None where the file is gone or broken.

    Up to ``room`` bytes they stand in the page as the model got them; beyond it they are recompressed, first without
    loss.
    """
    paths = [files.get(name) for name in hashes]
    sizes = [path.stat().st_size if path else 0 for path in paths]
    if sum(sizes) <= room:
        return [Picture(path.read_bytes(), _type(path), True) if path else None for path in paths]
    with ThreadPoolExecutor() as threads:  # the encoder lets other threads run
        made = list(threads.map(partial(_smaller, lossless=True), paths))
        size = sum(len(p.data) for p in made if p)
        if size <= room:
            return made
        return list(threads.map(partial(_smaller, lossless=False, share=room / size), paths))


def _type(path: Path) -> str:
    return {".jpg": "image/jpeg", ".webp": "image/webp", ".gif": "image/gif"}.get(path.suffix, "image/png")


def _smaller(path: Path | None, *, lossless: bool, share: float = 1.0) -> Picture | None:
    if path is None:
        return None
    try:
        with Image.open(path) as image:
            image.load()
            if lossless:
                out = io.BytesIO()
                image.convert("RGBA" if "A" in image.getbands() else "RGB").save(out, "WEBP", lossless=True, method=2)
                if out.tell() < path.stat().st_size:
                    return Picture(out.getvalue(), "image/webp", True)
                return Picture(path.read_bytes(), _type(path), True)
            small = image.convert("RGB")
            side = max(160, round(_LOSSY_SIDE * min(1.0, share**0.5)))
            small.thumbnail((side, side))
            out = io.BytesIO()
            small.save(out, "WEBP", quality=55, method=2)
            return Picture(out.getvalue(), "image/webp", False)
    except (OSError, ValueError, Image.DecompressionBombError):
        return None


def island(value: Any) -> str:
    """JSON that is inert inside ``<script type="application/json">``: ASCII, no markup, no line separators."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def encoded(picture: Picture) -> str:
    return base64.b64encode(picture.data).decode()
