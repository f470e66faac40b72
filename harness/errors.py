"""Every error this package raises on purpose, as one tree.

    IsoprobeError
    ├── SpecError        a YAML declaration is wrong: one or several Problems, each with file, line and path
    ├── DataError        a data file is wrong: names the file, the place in it, the value, and what would be right
    ├── KeyLookupError   a request key names nothing that the specs declare
    ├── BackendError     a model could not be asked
    │   ├── TransientError   worth another try (408, 429, 5xx, 529, broken bodies); knows Retry-After
    │   ├── FatalError       stops the run at once (401, 402, 403, 404, no credit); says what to do
    │   └── StopSending      a limit of the user's (--max-cost, --max-requests) is reached; nothing more is sent
    ├── StoreError       the reply store cannot be read or written
    ├── RunError         a run folder is missing, incomplete or of another version
    └── AdapterError     an adapter or a training run does not fit its base model

A message has one shape, ``place: what is wrong; what would be right``, so that a reader can act on it
without opening the code. Anything else that escapes is a bug in the harness.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any


class IsoprobeError(Exception):
    """Base of all deliberate errors."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault in a declaration. ``line`` is 1-based; 0 means the whole file."""

    file: str
    line: int
    path: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.path}: {self.message}" if self.path else f"{place}: {self.message}"


class SpecError(IsoprobeError):
    """One or several problems in YAML declarations, reported together."""

    def __init__(self, problems: Problem | Sequence[Problem]):
        self.problems = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))

    def __reduce__(self) -> tuple[Any, ...]:  # exceptions travel between xdist processes
        return (type(self), (self.problems,))


class DataError(IsoprobeError):
    """A data file cannot be used as declared."""


class KeyLookupError(IsoprobeError):
    """A request key, task, view or metric name that nothing declares."""


class BackendError(IsoprobeError):
    """A model could not be asked."""


class TransientError(BackendError):
    """Worth another try; ``retry_after_s`` is what the server asked for, or None."""

    def __init__(self, message: str, retry_after_s: float | None = None):
        super().__init__(message)
        self.retry_after_s = retry_after_s


class FatalError(BackendError):
    """Stops the run: trying again without a change by the user cannot help."""


class StopSending(BackendError):
    """A limit that the user set is reached: nothing more is sent, what was under way is kept."""


class StoreError(IsoprobeError):
    """The reply store cannot be read or written."""


class RunError(IsoprobeError):
    """A run folder is missing, incomplete or of another version."""


class AdapterError(IsoprobeError):
    """An adapter or a training run does not fit its base model."""


def near(value: object, valid: Iterable[object]) -> str:
    """``; did you mean 'eV'? valid: eV, nm, um`` - the tail of every message about an unknown name."""
    names = [str(v) for v in valid]
    folded = {n.casefold(): n for n in reversed(names)}
    close = difflib.get_close_matches(str(value).casefold(), folded, n=1, cutoff=0.5)
    guess = f"; did you mean {folded[close[0]]!r}?" if close else ";"
    return f"{guess} valid: {', '.join(names) or 'none'}"


def one_line(text: str, most: int = 600) -> str:
    """What somebody else says, for a message: no control characters or lone surrogates, no second line, at most ``most``."""
    return re.sub(r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff]+", " ", text[: 4 * most]).strip()[:most]
