"""Which spectra are clear enough to ask about: the filters of section 3.1, as declared rules.

The target is the global extremum on the sampled grid; no sub-grid fit. Every spectrum passes the filters in this order
and is counted under the first that removes it:

    interior     the extremum is the first or last sample of the range: the true one may lie outside
    flat         neighbouring samples share the extreme value, so the grid does not resolve where it lies
    prominence   the extremum stands out too little from its surroundings
    rival        another local extremum is nearly as extreme, so a reader may take one for the other
    tie          a sample apart from the extremum shows (almost) the same value, e.g. where a dip is cut by the range's end
    margin       the extremum lies too close to a band boundary
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from harness.errors import DataError, near
from harness.spectrum import Spectrum

FILTERS = ("interior", "flat", "prominence", "rival", "tie", "margin")
EXTREMA = ("minimum", "maximum")


@dataclass(frozen=True, slots=True)
class CleanRule:
    """What counts as a clear extremum. Field for field the ``clean:`` block of a spec.

    Attributes:
        extremum: ``minimum`` (dips) or ``maximum`` (peaks).
        range_nm: lowest and highest wavelength shown, nm, both included; None shows the whole spectrum.
        interior: remove extrema on the first or last sample of the range.
        flat_samples: most neighbouring samples that may share the extreme value.
        prominence: least prominence of the target; response units, or a fraction of its value if ``relative``.
        rival_prominence: other local extrema count as rivals from this prominence on; same units.
        rival_gap: least difference in response between the target and its nearest rival; same units. With
            ``relative``, 0.03 means that no other peak exceeds 97 % of the highest.
        tie: samples this close to the extreme value must lie next to it; response units. The default keeps values apart
            that are shown with three decimals.
        relative: prominence and the rival's two numbers are fractions of the response at the extremum (sensible for maxima).
        boundaries_nm: wavelengths that the target must keep away from, nm.
        margin_nm: by at least this much, nm.

    Raises:
        DataError: a word or number that makes no sense.
    """

    extremum: str = "minimum"
    range_nm: tuple[float, float] | None = None
    interior: bool = True
    flat_samples: int = 2
    prominence: float = 0.15
    rival_prominence: float = 0.05
    rival_gap: float = 0.05
    tie: float = 0.002
    relative: bool = False
    boundaries_nm: tuple[float, ...] = ()
    margin_nm: float = 15.0

    def __post_init__(self) -> None:
        if self.extremum not in EXTREMA:
            raise DataError(f"clean.extremum: {self.extremum!r} is not an extremum{near(self.extremum, EXTREMA)}")
        for name in ("range_nm", "boundaries_nm"):  # lists, as YAML gives them
            if getattr(self, name) is not None:
                object.__setattr__(self, name, tuple(float(v) for v in getattr(self, name)))
        if self.range_nm is not None and not (len(self.range_nm) == 2 and self.range_nm[0] < self.range_nm[1]):
            raise DataError(f"clean.range_nm: {list(self.range_nm)} is not a range; give [lowest, highest] in nm")
        for name in ("prominence", "rival_prominence", "rival_gap", "tie", "margin_nm", "flat_samples"):
            if getattr(self, name) < 0:
                raise DataError(f"clean.{name}: {getattr(self, name)} is negative; give 0 or more")

    @classmethod
    def from_mapping(cls, declared: dict) -> CleanRule:
        """The rule of a ``clean:`` block; an unknown name is a DataError with the nearest valid one."""
        valid = [f.name for f in fields(cls)]
        for name in declared:
            if name not in valid:
                raise DataError(f"clean.{name}: no such rule{near(name, valid)}")
        return cls(**declared)


@dataclass(frozen=True, slots=True)
class Clean:
    """The result of a rule.

    Attributes:
        kept: the clear spectra, cut to the range of the rule, in the order given.
        position_nm: (len(kept),) wavelength of each one's extremum, nm.
        removed: filter name -> number of spectra it removed, in the order of ``FILTERS``.
    """

    kept: tuple[Spectrum, ...]
    position_nm: np.ndarray
    removed: dict[str, int]


def prominences(height: np.ndarray) -> np.ndarray:
    """(N, n) topographic prominence of every local maximum of the (N, n) rows; 0 where there is none.

    A plateau counts once, at its first sample; the first and last sample never count.
    """
    n = height.shape[1]
    found = np.zeros_like(height)
    for j in range(1, n - 1):
        here = height[:, j]
        rows = np.flatnonzero((here > height[:, j - 1]) & (here >= height[:, j + 1]))
        if not len(rows):
            continue
        here = here[rows]
        foot = np.full(len(rows), -np.inf)
        for side in (height[rows, :j][:, ::-1], height[rows, j + 1:]):
            below = np.logical_and.accumulate(side <= here[:, None], axis=1)  # up to the first higher sample
            foot = np.maximum(foot, np.where(below, side, here[:, None]).min(axis=1))
        found[rows, j] = here - foot
    return found


def tied(height: np.ndarray, at: np.ndarray, tolerance: float) -> np.ndarray:
    """(N,) bool: some sample within ``tolerance`` of the highest is not joined to it by samples that are as close.

    ``height`` is (N, n), ``at`` (N,) the index of the highest sample of each row.
    """
    close = height >= height.max(axis=1, keepdims=True) - tolerance
    column = np.arange(height.shape[1])[None, :]
    gap_left = np.where(~close & (column < at[:, None]), column, -1).max(axis=1)
    gap_right = np.where(~close & (column > at[:, None]), column, height.shape[1]).min(axis=1)
    return (close & ((column < gap_left[:, None]) | (column > gap_right[:, None]))).any(axis=1)


def clean(spectra: Sequence[Spectrum], rule: CleanRule) -> Clean:
    """The spectra with one clear extremum.

    All spectra must share one wavelength grid inside the range of the rule.

    Raises:
        DataError: no spectra, fewer than 3 samples in the range, or different grids.
    """
    if not spectra:
        raise DataError("no spectra to choose from")
    shown = np.ones(len(spectra[0]), dtype=bool)
    if rule.range_nm is not None:
        w = spectra[0].wavelength_nm
        shown = (w >= rule.range_nm[0]) & (w <= rule.range_nm[1])
        if shown.sum() < 3:
            raise DataError(f"range_nm: {int(shown.sum())} samples of spectrum {spectra[0].id!r} "
                            f"({w[0]:g}-{w[-1]:g} nm) lie in {rule.range_nm[0]:g}-{rule.range_nm[1]:g} nm; "
                            "at least 3 are needed")
    for s in spectra:
        if s.wavelength_nm is not spectra[0].wavelength_nm and not np.array_equal(s.wavelength_nm,
                                                                                  spectra[0].wavelength_nm):
            raise DataError(f"spectrum {s.id!r} has other wavelengths than {spectra[0].id!r}; "
                            "resample the set to one grid")
    w = spectra[0].wavelength_nm[shown]
    sign = 1.0 if rule.extremum == "maximum" else -1.0
    height = sign * np.stack([s.response for s in spectra])[:, shown]

    rows = np.arange(len(spectra))
    at = height.argmax(axis=1)
    top = height[rows, at]
    scale = np.abs(top) if rule.relative else np.ones(len(spectra))
    prominence = prominences(height)
    rivals = np.where((prominence > 0) & (prominence >= rule.rival_prominence * scale[:, None]), height, -np.inf)
    own = prominence[rows, at]
    if not rule.interior:  # an end has one side only: its prominence is the fall on that side
        own = np.where((at == 0) | (at == len(w) - 1), top - height.min(axis=1), own)
    rivals[rows, at] = -np.inf
    flat = np.ones(len(spectra), dtype=bool)
    for step in range(1, int(rule.flat_samples) + 1):  # at is the first sample that holds the extreme value
        flat &= (at + step < len(w)) & (height[rows, np.minimum(at + step, len(w) - 1)] == top)
    distance = np.abs(w[at][:, None] - np.array(rule.boundaries_nm)[None, :]).min(axis=1, initial=np.inf)

    slack = 1e-9  # a difference of exactly 0.05 passes although 0.15 - 0.10 < 0.05 in binary
    fails = np.stack([
        rule.interior & ((at == 0) | (at == len(w) - 1)),
        flat,
        own < rule.prominence * scale - slack,
        top - rivals.max(axis=1) < rule.rival_gap * scale - slack,
        tied(height, at, rule.tie),
        distance < rule.margin_nm - slack,
    ])
    first = np.where(fails.any(axis=0), fails.argmax(axis=0), -1)
    removed = {name: int((first == i).sum()) for i, name in enumerate(FILTERS)}
    good = np.flatnonzero(first == -1)
    kept = tuple(spectra[i] if shown.all() else spectra[i].keep(shown) for i in good)
    positions = w[at[good]]
    positions.setflags(write=False)
    return Clean(kept, positions, removed)
