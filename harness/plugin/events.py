"""``events.jsonl`` of a run: what a person should know while it goes on, appended by every process, read by the controller.

A worker cannot speak on the controller's terminal, and a reply that is waited for a quarter of an hour sends nothing that
a line could travel with; a file can be read at any time.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..lane import Event

FILE = "events.jsonl"


class Events:
    """Tells and hears events; hears only what is told after it was made."""

    def __init__(self, folder: Path):
        self.path = folder / FILE
        self._read = self.path.stat().st_size if self.path.exists() else 0

    def tell(self, event: Event) -> None:
        """Append a line in one write, from any thread or process. A full disk loses the line, never the run."""
        line = json.dumps({"at": round(time.time(), 3), "kind": event.kind, "model": event.model, "text": event.text})
        with contextlib.suppress(OSError), self.path.open("ab", buffering=0) as file:
            file.write(f"{line}\n".encode())

    def heard(self) -> list[dict[str, Any]]:
        """The events since the last call: ``at`` (s since 1970), ``kind``, ``model``, ``text``."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._read)
                whole = file.read().rpartition(b"\n")[0]
        except OSError:
            return []
        self._read += len(whole) + (whole != b"") * len(b"\n")
        return [json.loads(line) for line in whole.split(b"\n") if line]


def said(event: Mapping[str, Any]) -> str:
    """One line for the terminal."""
    return f"{event['model']}: {event['text']}" if event["model"] else str(event["text"])
