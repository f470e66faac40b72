"""The clean spectra that a family may still use, in an order that depends on seed, purpose and id alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ..errors import DataError
from ..spectrum import Spectrum


@dataclass(frozen=True, slots=True)
class Candidate:
    """A clean spectrum with its global extremum on the grid (no sub-grid fit; section 3.1)."""

    spectrum: Spectrum
    index: int
    nm: float
    value: float


def extremum_index(response: np.ndarray, extremum: str) -> int:
    """Index of the first global ``minimum`` or ``maximum`` of a response (n,)."""
    return int(np.argmin(response) if extremum == "minimum" else np.argmax(response))


def rank(seed: int, purpose: str, name: str) -> bytes:
    """Sort key that shuffles names the same way on every machine and Python: SHA-256 of seed, purpose and name."""
    return hashlib.sha256(f"{seed}:{purpose}:{name}".encode()).digest()


class Pool:
    """Draws without replacement. ``shortage`` explains in one message why a task cannot be filled."""

    def __init__(self, spectra: Iterable[Spectrum], seed: int, extremum: str, family: str,
                 removed: Mapping[str, int] | None = None):
        self.seed, self.extremum, self.family = seed, extremum, family
        self.removed = dict(removed or {})
        self.used: set[str] = set()
        self.candidates = []
        for s in spectra:
            i = extremum_index(s.response, extremum)
            self.candidates.append(Candidate(s, i, float(s.wavelength_nm[i]), float(s.response[i])))

    def ranked(self, purpose: str) -> list[Candidate]:
        """Unused candidates, shuffled for ``purpose``."""
        free = [c for c in self.candidates if c.spectrum.id not in self.used]
        return sorted(free, key=lambda c: rank(self.seed, purpose, c.spectrum.id))

    def use(self, *candidates: Candidate) -> None:
        self.used.update(c.spectrum.id for c in candidates)

    def fill(self, task: str, count: int, wishes: Callable[[int], Iterable[Callable[[Candidate], bool]]],
             why: str) -> Iterator[Candidate]:
        """One candidate for each of ``count`` places; ``wishes(i)`` are conditions from the strictest to the loosest.

        Raises:
            DataError: nothing unused meets the loosest condition of some place.
        """
        order = self.ranked(task)
        for i in range(count):
            found = next((c for wish in wishes(i) for c in order if c.spectrum.id not in self.used and wish(c)), None)
            if found is None:
                raise self.shortage(task, count, i, why)
            self.use(found)
            yield found

    def shortage(self, task: str, wanted: int, got: int, why: str) -> DataError:
        filters = "; ".join(f"filter {name!r} removed {n}" for name, n in self.removed.items() if n) or "none removed any"
        return DataError(
            f"{self.family}: task {task!r} needs {wanted} instances, the data fill {got} ({why}). "
            f"{len(self.candidates)} spectra passed the filters ({filters}), {len(self.used)} are in use by this "
            "family's tasks. Lower 'instances', relax the filter that removes most, or give more spectra")
