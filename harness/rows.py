"""Outcomes as columns: what every metric reads.

``Rows.of(outcomes)`` sorts by model and key and codes each column once, on first use; a selection (``where``, ``take``)
is an index into the same columns, so it keeps the numbering of the units and can still find the partner of a row
outside it. The rows of one model stand together: what is done for one model takes time by its rows, not by all.

The *unit* of the bootstrap is the cluster where the outcome names one, else the instance, always within its spec.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from .errors import DataError, near
from .outcome import LOST, Outcome

T = TypeVar("T", bound=np.generic)
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

KEY = ("model", "spec", "task", "instance", "variant", "view", "template", "repeat")
"""The columns that name one request (see ``RequestKey``)."""
COLUMNS = tuple(f.name for f in fields(Outcome))
UNHASHABLE = ("options", "probabilities", "claims", "missing", "near_misses", "facts", "notes")
FILTERS = tuple(c for c in COLUMNS if c not in UNHASHABLE)
"""What ``where`` can name; besides these, ``facts.NAME``."""


def unique(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """One outcome a key: the last that came from the model, else the last provider error, else lost; sorted by key.

    The optical-spectra paper, appendix A: "the last successful response is used; requests that failed and were
    retried count once". Any reply counts as successful, readable or not, so asking again can't raise a score.
    """
    rank = {LOST: 0, "provider_error": 1}
    best: dict[str, Outcome] = {}
    for outcome in outcomes:
        held = best.get(outcome.key)
        if held is None or rank.get(outcome.status, 2) >= rank.get(held.status, 2):
            best[outcome.key] = outcome
    return [best[key] for key in sorted(best)]


class _Columns:
    """The columns behind every selection of one ``Rows``; codes are made on first use and kept."""

    def __init__(self, outcomes: list[Outcome]):
        self.outcomes = outcomes
        self._codes: dict[str, tuple[Ints, dict[Any, int]]] = {}
        self._cache: dict[Any, npt.NDArray[Any]] = {}
        self.units, self.unit = self._units()

    def _units(self) -> tuple[list[tuple[str, str]], Ints]:
        names = [(o.spec, o.cluster or o.instance) for o in self.outcomes]
        units = sorted(set(names))
        at = {name: i for i, name in enumerate(units)}
        return units, np.fromiter(map(at.__getitem__, names), np.intp, len(names))

    def values(self, column: str) -> list[Any]:
        if column.startswith("facts."):
            fact = column.removeprefix("facts.")
            return [o.facts.get(fact) for o in self.outcomes]
        if column not in FILTERS:
            raise DataError(f"outcomes have no column {column!r}{near(column, FILTERS)}, facts.NAME")
        return list(map(attrgetter(column), self.outcomes))

    def codes(self, column: str) -> tuple[Ints, dict[Any, int]]:
        if column not in self._codes:
            values = self.values(column)
            try:
                names = sorted(set(values), key=lambda v: (type(v).__name__, v if v is not None else ""))
            except TypeError:
                raise DataError(f"column {column!r} holds lists or tables; only text, numbers and booleans "
                                "can be filtered") from None
            at = {name: i for i, name in enumerate(names)}
            self._codes[column] = np.fromiter(map(at.__getitem__, values), np.int64, len(values)), at
        return self._codes[column]

    def cached(self, name: Any, make: Callable[[], npt.NDArray[T]]) -> npt.NDArray[T]:
        if name not in self._cache:
            self._cache[name] = make()
        return self._cache[name]

    def groups(self, columns: tuple[str, ...]) -> Ints:
        def make() -> Ints:
            group = np.zeros(len(self.outcomes), np.int64)
            for column in columns:
                codes, names = self.codes(column)
                group = np.unique(group * len(names) + codes, return_inverse=True)[1]
            return group
        return self.cached(("groups", columns), make)


class Rows:
    """A selection of outcomes. Arrays have shape (n,) for the n selected rows, in the order of their keys."""

    __slots__ = ("_columns", "_index")

    def __init__(self, columns: _Columns, index: Ints):
        self._columns, self._index = columns, index

    @classmethod
    def of(cls, outcomes: Iterable[Outcome | Mapping[str, Any]]) -> Rows:
        """All outcomes, one a key (see :func:`unique`), whatever order they come in."""
        kept = unique(o if isinstance(o, Outcome) else Outcome.from_row(o) for o in outcomes)
        kept.sort(key=lambda o: o.model)
        return cls(_Columns(kept), np.arange(len(kept)))

    def __len__(self) -> int:
        return len(self._index)

    # -- selections -----------------------------------------------------------------------------------------------

    @property
    def everything(self) -> Rows:
        """The rows that this is a selection of."""
        return Rows(self._columns, np.arange(len(self._columns.outcomes)))

    def take(self, mask: np.ndarray) -> Rows:
        """The rows where ``mask`` (n,) is true (or at those positions)."""
        return Rows(self._columns, self._index[mask])

    def where(self, filters: Mapping[str, Any] | None = None, /, **more: Any) -> Rows:
        """The rows whose columns have the given value, or one of the given values.

        Raises:
            DataError: a column that outcomes do not have.
        """
        rows = self
        for column, value in {**(filters or {}), **more}.items():
            rows = rows.take(rows.among(column, value))
        return rows

    def union(self, *others: Rows) -> Rows:
        """The rows that are in any of the selections, each once."""
        index = np.concatenate([self._index, *(o._index for o in others)])
        start = index.min(initial=len(self._columns.outcomes))
        return Rows(self._columns, start + np.flatnonzero(np.bincount(index - start)))

    def partners(self, column: str, reference: Any) -> tuple[Bools, Rows]:
        """The request that differs from each row in ``column`` alone, where it is ``reference``.

        Returns:
            (n,) bool, whether there is one; and the partners of those rows, in their order.
        """
        columns = self._columns
        group = columns.groups(tuple(c for c in KEY if c != column))

        def make() -> Ints:
            rows = np.flatnonzero(self.everything.among(column, reference))
            at = np.full(len(columns.outcomes), -1)
            at[group[rows]] = rows
            return at[group]
        partner = columns.cached(("partner", column, reference), make)[self._index]
        found = partner >= 0
        return found, Rows(columns, partner[found])

    def split(self, column: str) -> list[tuple[Any, Rows]]:
        """The values that occur, sorted, each with its rows."""
        codes, names = self._columns.codes(column)
        order = np.argsort(codes[self._index], kind="stable")
        ends = np.cumsum(np.bincount(codes[self._index], minlength=len(names)))
        parts = np.split(self._index[order], ends[:-1])
        return [(value, Rows(self._columns, part)) for value, part in zip(names, parts, strict=False) if len(part)]

    # -- columns --------------------------------------------------------------------------------------------------

    @property
    def outcomes(self) -> list[Outcome]:
        return [self._columns.outcomes[i] for i in self._index]

    def codes(self, column: str) -> Ints:
        """(n,) int, equal where the values are equal."""
        return self._columns.codes(column)[0][self._index]

    def among(self, column: str, value: Any) -> Bools:
        """(n,) bool: the column has this value (or, for a list, tuple or set, one of these)."""
        codes, names = self._columns.codes(column)
        wanted = value if isinstance(value, list | tuple | set | frozenset) else (value,)
        hit = np.zeros(len(names), bool)
        hit[[names[v] for v in wanted if v in names]] = True
        return hit[codes[self._index]]

    def distinct(self, column: str) -> list[Any]:
        """The values that occur, sorted."""
        seen = np.bincount(self.codes(column), minlength=len(self._columns.codes(column)[1]))
        return [value for value, code in self._columns.codes(column)[1].items() if seen[code]]

    def same(self, left: str, right: str) -> Bools:
        """(n,) bool: two columns hold the same value, None never counted as such."""
        def make() -> Bools:
            pairs = zip(self._columns.values(left), self._columns.values(right), strict=True)
            return np.array([a is not None and a == b for a, b in pairs], bool)
        return self._columns.cached(("same", left, right), make)[self._index]

    def derived(self, name: str, make: Callable[[Rows], npt.NDArray[T]]) -> npt.NDArray[T]:
        """(n,) of an array that ``make`` computes from all rows, once for all selections under ``name``."""
        return self._columns.cached(("derived", name), lambda: make(self.everything))[self._index]

    def numbers(self, column: str) -> Floats:
        """(n,) float, NaN where the value is None."""
        def make() -> Floats:
            return np.array([np.nan if v is None else v for v in self._columns.values(column)], float)
        return self._columns.cached(("numbers", column), make)[self._index]

    def computed(self, name: str, value: Callable[[Outcome], float]) -> Floats:
        """(n,) float of a function of one outcome, computed once for all selections under ``name``."""
        def make() -> Floats:
            return np.array([value(o) for o in self._columns.outcomes], float)
        return self._columns.cached(("computed", name), make)[self._index]

    @property
    def usable(self) -> Bools:
        return self._flag("usable", lambda o: o.status == "usable")

    @property
    def attempted(self) -> Bools:
        """(n,) bool: all but the lost, which no model has answered badly."""
        return self._flag("attempted", lambda o: o.status != LOST)

    @property
    def correct(self) -> Bools:
        """(n,) bool; a row that is not usable is never correct."""
        return self._flag("correct", lambda o: o.status == "usable" and o.correct is True)

    @property
    def abstained(self) -> Bools:
        """(n,) bool; a row that is not usable has not abstained."""
        return self._flag("abstained", lambda o: o.status == "usable" and o.abstained is True)

    def _flag(self, name: str, value: Callable[[Outcome], bool]) -> Bools:
        def make() -> Bools:
            return np.fromiter(map(value, self._columns.outcomes), bool, len(self._columns.outcomes))
        return self._columns.cached(("flag", name), make)[self._index]

    # -- groups and units -----------------------------------------------------------------------------------------

    def groups(self, *columns: str) -> Ints:
        """(n,) int from 0: equal where all the columns are. With ``model`` first they stay small for one model."""
        group = self._columns.groups(columns)[self._index]
        return group - group.min() if len(group) else group

    @property
    def unit(self) -> Ints:
        """(n,) int: the bootstrap unit of each row, an index into ``units``."""
        return self._columns.unit[self._index]

    @property
    def units(self) -> list[tuple[str, str]]:
        """(spec, cluster or instance) of all units of ``everything``, sorted."""
        return self._columns.units

    @property
    def n_instances(self) -> int:
        return int(np.count_nonzero(np.bincount(self.groups("spec", "instance"))))

    @property
    def n_units(self) -> int:
        return int(np.count_nonzero(np.bincount(self.unit)))
