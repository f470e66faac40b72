"""What came of it: the flat row of one request, and the numbers, gates and verdicts made from such rows."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Literal

from .probe import RequestKey

STATUSES = ("repetition", "truncated", "provider_error", "unparsed", "usable")
"""In the order of precedence of the modality paper, appendix D."""
LOST = "lost"
"""Status of an item whose worker died before it could report."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One request, its status, its reading and the expected answer: one flat row of builtins.

    Only ``usable`` rows carry a ``choice`` that counts; ``correct`` and ``abstained`` are None on every other row.
    ``probabilities`` and ``claims`` are dicts of builtins; everything else is a scalar.
    """

    key: str
    spec: str
    dataset: str
    task: str
    instance: str
    cluster: str
    variant: str
    relation: str
    core: bool
    view: str
    modality: str
    unit: str
    order: str
    template: str
    model: str
    repeat: int
    status: str
    choice: str | None
    expected: str
    correct: bool | None
    abstained: bool | None
    options: list[str] = field(default_factory=list)
    probabilities: dict[str, float] | None = None
    confidence: float | None = None
    probability_kind: str = ""  # "readout" or "self-reported": never pooled
    claims: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    near_misses: list[str] = field(default_factory=list)
    answer_space: str = "choice"
    # what the tables group by (from Truth); "" where it does not apply
    wording: str = ""  # wavelength | energy
    direction: str = ""  # longer | shorter | minimum | maximum ...
    cut: str = ""  # full | outside | inside
    deletion: str = ""  # long | short | middle
    decoy: str = ""
    first: str = ""
    regime: str = ""  # redundant | unique | complementary | synergistic | mixed
    facts: dict[str, Any] = field(default_factory=dict)
    # provenance
    readout: str = ""
    label_mass: float | None = None
    finish_reason: str = ""
    provider: str = ""
    served_model: str = ""
    generation_id: str = ""
    tokens_in: int | None = None
    tokens_cached: int | None = None
    tokens_out: int | None = None
    tokens_reasoning: int | None = None
    cost_usd: float | None = None
    latency_s: float | None = None
    tries: int = 0
    error: str = ""
    notes: dict[str, Any] = field(default_factory=dict)
    request_sha256: str = ""

    def to_row(self) -> dict[str, Any]:
        return dict(zip(_KINDS, _values(self), strict=True))

    def to_json(self) -> str:
        """The row as one line of ASCII JSON."""
        return _line(self.to_row())

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Outcome:
        """Inverse of :meth:`to_row`; columns of a newer version are ignored.

        Raises:
            TypeError: a column is missing, or holds something of another kind.
            ValueError: a number is not finite, or the key is not that of the columns.
        """
        known = {k: v for k, v in row.items() if k in _KINDS}
        for name, value in known.items():
            if not isinstance(value, _KINDS[name]):
                raise TypeError(f"{name}: {value!r:.60} is a {type(value).__name__}")
        for name, kinds in _INNER.items():
            inner = known.get(name) or ()
            for value in inner.values() if isinstance(inner, dict) else inner:
                if type(value) not in kinds:
                    raise TypeError(f"{name}: {value!r:.60} in it is a {type(value).__name__}")
        numbers = [(name, known.get(name)) for name in _NUMBERS]
        numbers += [("probabilities", share) for share in (known.get("probabilities") or {}).values()]
        for name, value in numbers:
            if value is not None and not finite(value):
                raise ValueError(f"{name}: {value!r:.60} is not a finite number")
        made = cls(**known)
        key = str(RequestKey(made.spec, made.task, made.instance, made.variant, made.view, made.template, made.repeat,
                             made.model))
        if made.key != key:
            raise ValueError(f"key: {made.key!r:.200} is not that of the columns, {key!r:.200}")
        return made


_line = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode

_BUILTINS = {"str": (str,), "bool": (bool,), "int": (int,), "float": (float, int), "None": (type(None),),
             "list[str]": (list,)}
_KINDS: dict[str, tuple[type, ...]] = {
    f.name: tuple(kind for part in str(f.type).split(" | ") for kind in _BUILTINS.get(part, (dict,)))
    for f in dataclasses.fields(Outcome)
}
"""Column -> the builtins it may hold."""
_INNER: dict[str, tuple[type, ...]] = {
    "options": (str,), "missing": (str,), "near_misses": (str,), "claims": (str,), "probabilities": (float, int)}
"""The same for what stands in a list or mapping."""
_NUMBERS = tuple(name for name, kinds in _KINDS.items() if int in kinds)
_values = attrgetter(*_KINDS)


def finite(value: float) -> bool:
    """Whether a sum can be taken: not NaN, not infinite, and no integer above every float."""
    return -sys.float_info.max <= value <= sys.float_info.max


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval, in the unit of its metric. No data is None, never 0.

    ``interval`` is None when it cannot be had (no data, or a single cluster). ``n_units`` counts what was resampled, the
    clusters of the instances: whatever is said of chance rests on it. 0 stands for as many as instances.
    """

    value: float | None
    interval: tuple[float, float] | None
    n_instances: int
    n_requests: int
    unit: str = "%"
    n_units: int = 0

    def __post_init__(self) -> None:
        if not self.n_units:
            object.__setattr__(self, "n_units", self.n_instances)


def number(value: float, unit: str) -> str:
    """A value with the decimals that its unit is read to: one for percentages and points, three for scores."""
    return f"{value:.3f}" if unit == "score" else f"{value:.1f}"


@dataclass(frozen=True, slots=True)
class Table:
    """A named table. ``rows`` hold strings, numbers, None and Estimates, one per column.

    ``name`` is the file stem, ``source`` says where in the papers the like of it stands.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    note: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Gate:
    """A threshold on an estimate.

    Attributes:
        metric: name in the metric table.
        where: filter on outcome columns, e.g. ``{"task": "compare", "modality": "table"}``; values may be lists.
        at_least, at_most: the bound; exactly one or both are given, in the metric's unit.
        on: whether the point estimate, or the interval end that is harder to pass, must satisfy the bound.
        min_instances: below this n the verdict is ``undecided``.
        undecided: whether ``undecided`` counts as ``fail`` or ``pass`` for the exit status.
    """

    name: str
    metric: str
    where: Mapping[str, Any] = field(default_factory=dict)
    at_least: float | None = None
    at_most: float | None = None
    on: Literal["estimate", "interval"] = "estimate"
    min_instances: int = 1
    undecided: Literal["fail", "pass"] = "fail"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a gate on one model."""

    gate: Gate
    model: str
    result: Literal["pass", "fail", "undecided"]
    estimate: Estimate
    message: str
