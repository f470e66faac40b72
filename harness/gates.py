"""Thresholds on estimates, and the exit status that follows from them.

A gate passes only on evidence. It *fails* when its bound is missed, or when an arm that it covers (a task in a view)
has not one usable reply; it is *undecided* when there is no data, too few instances, no interval where one is asked
for, or when requests were lost. Undecided counts as failed unless the gate says ``undecided: pass``.

``where: {task: "*"}`` gives one verdict for each task, so that a task that always fails can't hide behind a mean. Where a
metric compares with a reference, such as the nm table, that one gets no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Literal

import numpy as np

from .bootstrap import Resamples, point
from .errors import DataError, KeyLookupError, Problem, SpecError, near
from .intervals import RANGES, without_variance
from .metrics import METRICS
from .metrics.metric import Metric, load
from .outcome import LOST, Estimate, Gate, Verdict, number
from .rows import FILTERS, Rows

EACH = "*"
_SLACK = 1e-9  # points; sums of floats
Result = Literal["pass", "fail", "undecided"]


def gates_of(profiles: Mapping[str, Any], file: str = "specs/gates.yaml",
             line: Callable[[tuple[Any, ...]], int] = lambda path: 0) -> dict[str, tuple[Gate, ...]]:
    """The gates of each profile.

    Args:
        profiles: profile name -> list of gates, as parsed from YAML (see ``specs/schema/gates.schema.json``).
        file, line: how messages name the place; ``line`` maps a path such as ``("ci", 0, "metric")`` to a line.

    Raises:
        SpecError: every fault at once.
    """
    problems: list[Problem] = []

    def fault(path: tuple[Any, ...], message: str) -> None:
        problems.append(Problem(file, line(path), ".".join(map(str, path)), message))
    if not isinstance(profiles, Mapping):
        raise SpecError(Problem(file, 0, "", f"{profiles!r} is not a mapping of profiles to lists of gates"))
    made = {}
    for profile, entries in profiles.items():
        if not isinstance(entries, list):
            fault((profile,), f"{entries!r} is not a list of gates")
            continue
        checked = [_gate(entry, (profile, i), fault) for i, entry in enumerate(entries)]
        names = [gate.name for gate in checked if gate]
        for i, gate in enumerate(checked):
            if gate and names.count(gate.name) > 1:
                fault((profile, i, "name"), f"{gate.name!r} is used twice; name each gate of a profile differently")
        made[str(profile)] = tuple(gate for gate in checked if gate)
    if problems:
        raise SpecError(problems)
    return made


def profile_of(profiles: Mapping[str, Any], name: str, file: str = "specs/gates.yaml",
               line: Callable[[tuple[Any, ...]], int] = lambda path: 0) -> tuple[Gate, ...]:
    """The gates of one profile; see :func:`gates_of`.

    Raises:
        SpecError: no such profile, or any fault in the file.
    """
    made = gates_of(profiles, file, line)
    if name not in made:
        raise SpecError(Problem("--gate", 0, "", f"{name!r} is not a profile of {file}{near(name, made)}"))
    return made[name]


def _gate(entry: Any, path: tuple[Any, ...], fault: Callable[[tuple[Any, ...], str], None]) -> Gate | None:
    if not isinstance(entry, Mapping):
        fault(path, f"{entry!r} is not a gate; write name, metric and at_least or at_most")
        return None
    known, faults = {f.name for f in fields(Gate)}, 0

    def bad(key: str, message: str) -> None:
        nonlocal faults
        faults += 1
        fault((*path, key) if key else path, message)
    for key in entry:
        if key is True:  # YAML 1.1
            bad("on", 'a plain on is read as true; write "on" in quotes')
        elif key not in known:
            bad(str(key), f"{key!r} is not a property of a gate{near(key, sorted(known))}")
    for key in ("name", "metric"):
        if not isinstance(entry.get(key), str) or not entry[key]:
            bad(key if key in entry else "", f"{key} must be given as text")
    if isinstance(entry.get("metric"), str):
        try:
            load(entry["metric"])
        except KeyLookupError as error:
            bad("metric", str(error))
    where = entry.get("where", {})
    if not isinstance(where, Mapping):
        bad("where", f"{where!r} is not a mapping of columns to values")
        where = {}
    for column in where:
        if column not in FILTERS and not str(column).startswith("facts."):
            bad(f"where.{column}", f"{column!r} is not a column of outcomes{near(column, FILTERS)}, facts.NAME")
        elif isinstance(where[column], Mapping):
            bad(f"where.{column}", f"{where[column]!r} is neither a value nor a list of values")
    bounds = [b for b in ("at_least", "at_most") if entry.get(b) is not None]
    if not bounds:
        bad("", "at_least or at_most must be given")
    for bound in bounds:
        if not _number(entry[bound]):
            bad(bound, f"{entry[bound]!r} is not a number, e.g. 5")
    if len(bounds) == 2 and all(_number(entry[b]) for b in bounds) and entry["at_least"] > entry["at_most"]:
        bad("at_least", f"{entry['at_least']} is above at_most {entry['at_most']}; nothing could pass")
    minimum = entry.get("min_instances", 1)
    if not isinstance(minimum, int) or isinstance(minimum, bool) or minimum < 1:
        bad("min_instances", f"{minimum!r} is not a positive integer, e.g. 20")
    for key, valid in (("on", ("estimate", "interval")), ("undecided", ("fail", "pass"))):
        if key in entry and entry[key] not in valid:
            bad(key, f"{entry[key]!r} is not allowed{near(entry[key], valid)}")
    return None if faults else Gate(**entry)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def evaluate(gates: Iterable[Gate], rows: Rows, resamples: Resamples,
             models: Sequence[str] = ()) -> tuple[Verdict, ...]:
    """One verdict a gate and model (more where the filter says ``"*"``), by gate, then by model.

    Args:
        models: that were to be asked; one without a single row is undecided, not absent.
    """
    of_model = dict(rows.split("model"))
    asked = sorted({*models, *of_model}) or ["(no model)"]
    none = rows.take(np.zeros(len(rows), bool))
    return tuple(
        _verdict(part, model, of_model.get(model, none), resamples)
        for gate in gates for model in asked for part in _each(gate, of_model.get(model, none))
    )


def failed(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Those that make the exit status 1."""
    return [v for v in verdicts if v.result == "fail" or (v.result == "undecided" and v.gate.undecided == "fail")]


def _each(gate: Gate, rows: Rows) -> list[Gate]:
    """The gate itself, or one for each combination of values of its ``"*"`` columns among the rows.

    Without any value it keeps its ``"*"``, which no request has: it was not measured.
    """
    for column, value in gate.where.items():
        if value == EACH:
            others = {c: v for c, v in gate.where.items() if v != EACH}
            return [
                part
                for found in _values(gate, column, rows.where(others))
                for part in _each(replace(gate, name=f"{gate.name} [{column}={found}]",
                                          where={**gate.where, column: found}), rows)
            ] or [gate]
    return [gate]


def _values(gate: Gate, column: str, rows: Rows) -> list[Any]:
    """What ``"*"`` stands for: the values that occur, less None, which is none, and less the one that the metric compares
    the others with, which makes no pair. Both stay where they hide what a gate must not pass: lost requests, whose value
    nobody knows, and a reference that failed itself."""
    metric = load(gate.metric)
    reference = metric.settings.get("reference") if metric.settings.get("column") == column else None

    def judged(value: Any) -> bool:
        if value not in (None, reference):
            return True
        part = rows.where({column: value})
        return bool(part.among("status", LOST).any()) or (value is not None and bool(_dead_arm(metric, part)))
    return [value for value in rows.distinct(column) if judged(value)]


def _verdict(gate: Gate, model: str, rows: Rows, resamples: Resamples) -> Verdict:
    metric, chosen = load(gate.metric), rows.where(gate.where)

    def verdict(result: Result, estimate: Estimate, message: str) -> Verdict:
        return Verdict(gate, model, result, estimate, message)
    try:
        estimate = resamples.estimate(metric, chosen)
    except DataError as error:
        return verdict("undecided", Estimate(None, None, 0, len(chosen), metric.unit), str(error))
    if not len(chosen):
        return verdict("undecided", estimate, f"expected {_bound(gate, metric)}, found no request with "
                                              f"{_filter(gate)}: it was not measured")
    for column, wanted in gate.where.items():
        for value in wanted if isinstance(wanted, list | tuple) else ():
            if not chosen.among(column, value).any():
                return verdict("undecided", estimate, f"no request has {column}={value}: this arm was not measured")
    lost = int(chosen.among("status", LOST).sum())
    if lost:
        return verdict("undecided", estimate, f"{lost} of {len(chosen)} requests were lost; run again to complete them")
    if dead := _dead_arm(metric, chosen):
        return verdict("fail", estimate, f"{dead} has no usable reply; an arm that failed can't pass")
    if estimate.value is None:
        return verdict("undecided", estimate, f"expected {_bound(gate, metric)}, found no data for {gate.metric} among "
                                              f"{len(chosen)} requests: it was not measured")
    if estimate.n_instances < gate.min_instances:
        return verdict("undecided", estimate,
                       f"n = {estimate.n_instances} instances, at least {gate.min_instances} are needed")
    if gate.on == "interval" and estimate.interval is None:
        return verdict("undecided", estimate, f"{_found(estimate)} has no interval: too few instances with data")
    good, message = _judge(gate, metric, estimate)
    return verdict("pass" if good else "fail", estimate, message + _worst(metric, chosen))


def _judge(gate: Gate, metric: Metric, estimate: Estimate) -> tuple[bool, str]:
    """Whether an estimate with a value (and an interval, if the gate is on it) keeps the bound, and what to say."""
    value = low = high = estimate.value or 0.0
    said = ""
    if gate.on == "interval" and estimate.interval:
        low, high = estimate.interval
        if high - low < _SLACK and metric.unit in RANGES:
            low, high = without_variance(value, estimate.n_units, metric.unit)
            among = "instances" if estimate.n_units == estimate.n_instances else "clusters"
            said = f"; without variance among {among} the interval is taken as [{low:.1f}, {high:.1f}]"
    good = ((gate.at_least is None or low >= gate.at_least - _SLACK)
            and (gate.at_most is None or high <= gate.at_most + _SLACK))
    return good, f"expected {_bound(gate, metric)} on the {gate.on}, found {_found(estimate)}{said}"


def _dead_arm(metric: Metric, rows: Rows) -> str:
    """An arm without a usable reply, unless it is attrition itself that is judged."""
    if METRICS[metric.function.__name__].startswith("attrition:"):
        return ""
    dead = [f"{spec}/{task} in {view}" for spec, here in rows.split("spec") for task, asked in here.split("task")
            for view, arm in asked.split("view") if not arm.usable.any()]
    return dead[0] if dead else ""


def _worst(metric: Metric, rows: Rows) -> str:
    """The task farthest from the ideal, where a value pools several."""
    if metric.ideal is None:
        return ""
    values = [
        (abs(value - metric.ideal), f"{task} {number(value, metric.unit)}")
        for _, here in rows.split("spec") for task, asked in here.split("task")
        if (value := point(metric, metric.select(asked))) is not None
    ]
    return f"; farthest from ideal: {max(values)[1]}" if len(values) > 1 else ""


def _filter(gate: Gate) -> str:
    return ", ".join(f"{c}={v}" for c, v in gate.where.items()) or "any value"


def _bound(gate: Gate, metric: Metric) -> str:
    bounds = [f"at least {gate.at_least:g}"] if gate.at_least is not None else []
    bounds += [f"at most {gate.at_most:g}"] if gate.at_most is not None else []
    return f"{gate.metric} {' and '.join(bounds)} {metric.unit}"


def _found(estimate: Estimate) -> str:
    def shown(value: float) -> str:
        return number(value, estimate.unit)
    ends = f" [{shown(estimate.interval[0])}, {shown(estimate.interval[1])}]" if estimate.interval else ""
    n = estimate.n_units
    clusters = f" in {n} cluster{'s' if n != 1 else ''}" if n < estimate.n_instances else ""
    return (f"{shown(estimate.value or 0.0)}{ends} (n = {estimate.n_instances} instances{clusters}, "
            f"{estimate.n_requests} requests)")
