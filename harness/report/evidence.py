"""What every request showed and every reply said, kept in the run's folder for the explorer of ``report.html``.

    requests.jsonl  {"text": sha256, "is": ...} once a piece of evidence, {"request": sha256, ...} once a request
    images/         <sha256>.png, the bytes that the model received
    replies.jsonl   {"key": ..., "reply": [...]} for each request answered in words

Tables, figures and gates need none of it: they are made from outcomes.jsonl alone. The files are only appended to, whole
lines in one write, by as many processes as there are; a line that a killed process left half written is skipped, and
what it had not written yet is kept when the run goes on.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import RunError
from ..probe import Request, Response

REQUESTS, REPLIES, IMAGES = "requests.jsonl", "replies.jsonl", "images"
REPLY_LIMIT = 40_000
"""Characters of a reply that are kept; the store of replies has all of it."""
MOST_WAITING, FLUSH_S = 64, 1.0
"""Lines are written together: at the latest when so many wait, or the first line after so many seconds comes."""
_line = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
_SUFFIX = {"image/jpeg": "jpg", "image/webp": "webp", "image/gif": "gif"}


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the folder of a run holds; empty where nothing was kept.

    Attributes:
        requests: request_sha256 -> content, as ``Request.content`` gives it, texts and images by hash.
        texts: sha256 -> text of a piece of evidence.
        images: sha256 -> file.
        replies: key -> the words of each reply, one for each order of the options.
    """

    requests: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    images: Mapping[str, Path] = field(default_factory=dict)
    replies: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def evidence_text(self, request_sha256: str) -> str:
        """The text parts of a request's evidence, or "" where it was not kept."""
        parts = self.requests.get(request_sha256, {}).get("evidence", ())
        return "\n\n".join(self.texts.get(p["text"], "") for p in parts if "text" in p)


NONE = Evidence()


class Keeper:
    """Writes the evidence of one process. ``keep`` may be called again with what is already there.

    Raises:
        RunError: the folder cannot be written.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self._seen: set[str] = set()
        self._files: dict[str, BinaryIO] = {}
        self._waiting: dict[str, list[str]] = {REQUESTS: [], REPLIES: []}
        self._written = time.monotonic()

    def keep(self, request: Request, responses: Sequence[Response] = ()) -> None:
        """Keep what was asked, its images, and what was said."""
        if request.sha256 not in self._seen:
            self._seen.add(request.sha256)
            parts = []
            for part in request.evidence:
                sha = part.sha256
                parts.append({"image": sha} if part.image else {"text": sha})
                if sha in self._seen:
                    continue
                self._seen.add(sha)
                if part.image:
                    self._image(sha, part.image, part.media_type)
                else:
                    self._add(REQUESTS, {"text": sha, "is": part.text})
            self._add(REQUESTS, {"request": request.sha256, **request.content(), "evidence": parts})
        words = [r.text[:REPLY_LIMIT] for r in responses]
        if any(words):
            self._add(REPLIES, {"key": str(request.key), "reply": words})

    def close(self) -> None:
        """Write what waits and give the files back; may be called twice, and the keeper can be used again."""
        self._write()
        while self._files:
            self._files.popitem()[1].close()

    def __enter__(self) -> Keeper:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _add(self, name: str, line: Mapping[str, Any]) -> None:
        self._waiting[name].append(_line(line))
        if len(self._waiting[name]) >= MOST_WAITING or time.monotonic() - self._written >= FLUSH_S:
            self._write()

    def _write(self) -> None:
        """One write a file, that starts on a new line whatever another process left behind."""
        for name, lines in self._waiting.items():
            if not lines:
                continue
            data = "\n".join(("", *lines, "")).encode()
            try:
                if name not in self._files:
                    self.folder.mkdir(parents=True, exist_ok=True)
                    self._files[name] = (self.folder / name).open("ab", buffering=0)
                self._files[name].write(data)
            except OSError as error:
                raise RunError(f"{self.folder / name}: cannot be written ({error.strerror}); is the disk full?") from None
            lines.clear()
        self._written = time.monotonic()

    def _image(self, sha: str, data: bytes, media_type: str) -> None:
        path = self.folder / IMAGES / f"{sha}.{_SUFFIX.get(media_type, 'png')}"
        if path.exists():
            return
        partial = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_bytes(data)
            os.replace(partial, path)
        except OSError as error:
            raise RunError(f"{path}: cannot be written ({error.strerror}); is the disk full?") from None


def read(*folders: Path) -> Evidence:
    """The evidence of one run, or of several together; a folder without any adds none."""
    requests: dict[str, Any] = {}
    texts: dict[str, str] = {}
    images: dict[str, Path] = {}
    replies: dict[str, list[str]] = {}
    for folder in folders:
        for line in _lines(folder / REQUESTS):
            if "request" in line:
                requests[str(line.pop("request"))] = line
            elif "text" in line:
                texts[str(line["text"])] = str(line.get("is", ""))
        for line in _lines(folder / REPLIES):
            replies[str(line.get("key"))] = [str(t) for t in line.get("reply", ())]
        images.update({path.stem: path for path in sorted((folder / IMAGES).glob("[0-9a-f]*.*"))})
    return Evidence(requests, texts, images, replies)


def _lines(path: Path) -> Iterable[dict[str, Any]]:
    if not path.is_file():
        return
    with path.open("rb") as file:
        for line in file:
            if line.isspace():
                continue
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if isinstance(row, dict):
                yield row
