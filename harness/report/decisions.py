"""Profiles of gates, what a verdict could have detected, and decisions that allow for how many were made.

A profile of ``specs/gates.yaml`` is a list of gates, or ``{holm: true, gates: [...]}``. With ``holm`` the verdicts of
one session are one family, whatever came of them, and Holm's step-down procedure (Holm 1979) bounds the chance of a
single false decision by 5 %:

- a gate on the *interval* passes only if its evidence for the bound survives the adjustment (one-sided 2.5 %);
- a gate on the *estimate* fails only if its evidence against the bound does; one that merely misses it is undecided.

One-sided p-values compare (estimate - bound) / SE with Student's t(n - 1) over n clusters of instances (the instances
themselves, where the data name none); SE is the standard deviation of the resampled values. Shares of resamples, which
end at 1 / B, could not be adjusted for many verdicts.
Where no cluster differs from another, SE is 0 and the sign test's 2^-n stands instead.

The minimum detectable effect of an estimate is the difference from a bound that this n finds with 80 % power at a
two-sided 5 % level: (z(0.975) + z(0.8)) x SE = 2.80 SE. Where SE is 0, the effect that n clusters cannot exclude
stands for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy import stats

from ..bootstrap import Resamples
from ..gates import evaluate, profile_of
from ..intervals import RANGES, without_variance
from ..metrics.metric import load
from ..outcome import Estimate, Gate, Verdict
from ..rows import Rows

LEVEL = 0.025
"""One-sided, as the end of a 95 % interval."""
POWER = 0.8
FLAT = 1e-9
"""Below it a difference, or a standard error, is the rounding of sums."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The gates of a session and how they are decided; without gates nothing is judged."""

    gates: tuple[Gate, ...] = ()
    holm: bool = False
    name: str = ""


NO_PROFILE = Profile()


def profile(
    profiles: Mapping[str, Any],
    name: str | None,
    file: str = "specs/gates.yaml",
    line: Callable[[tuple[Any, ...]], int] = lambda path: 0,
) -> Profile:
    """The profile of this name; no gates without a name. ``file`` and ``line`` are how messages name the place.

    Raises:
        SpecError: no such profile, or faults in the file.
    """
    if not name:
        return NO_PROFILE
    plain = {key: value["gates"] if _adjusted(value) else value for key, value in profiles.items()}

    def inside(path: tuple[Any, ...]) -> int:
        return line((path[0], "gates", *path[1:]) if path and _adjusted(profiles.get(path[0])) else path)

    gates = profile_of(plain, name, file, inside)
    return Profile(gates, _adjusted(profiles[name]) and bool(profiles[name].get("holm")), name)


def _adjusted(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("gates"), list) and set(value) <= {"holm", "gates"}


def decide(chosen: Profile, rows: Rows, resamples: Resamples, models: Sequence[str] = ()) -> tuple[Verdict, ...]:
    """Verdicts of a profile's gates, each with what it could have detected."""
    verdicts = evaluate(chosen.gates, rows, resamples, models)
    drawn = [_resampled(v, rows, resamples) for v in verdicts]
    if chosen.holm:
        verdicts = _holm(verdicts, drawn)
    return tuple(_with_power(v, values) for v, values in zip(verdicts, drawn, strict=True))


def _resampled(verdict: Verdict, rows: Rows, resamples: Resamples) -> np.ndarray:
    """(b,) finite resampled values of a verdict's estimate; empty where it has none."""
    if verdict.estimate.value is None or verdict.estimate.interval is None:
        return np.empty(0)
    metric = load(verdict.gate.metric)
    values = metric.compute(metric.select(rows.where(model=verdict.model).where(verdict.gate.where)), resamples.weights)
    return values[np.isfinite(values)]


# -- power --------------------------------------------------------------------------------------------------------


def detectable(estimate: Estimate, standard_error: float, power: float = POWER) -> float | None:
    """The least difference that this n finds, in the unit of the estimate; None without an interval."""
    if estimate.value is None or estimate.interval is None:
        return None
    if standard_error > FLAT:
        return (NormalDist().inv_cdf(1 - LEVEL) + NormalDist().inv_cdf(power)) * standard_error
    if estimate.unit not in RANGES:
        return None
    low, high = without_variance(estimate.value, estimate.n_units, estimate.unit)
    return max(estimate.value - low, high - estimate.value)


def _with_power(verdict: Verdict, values: np.ndarray) -> Verdict:
    effect = detectable(verdict.estimate, float(values.std()) if len(values) else 0.0)
    if effect is None:
        return verdict
    unit = "" if verdict.estimate.unit == "score" else " points"
    digits = f"{effect:.3f}" if not unit else f"{effect:.1f}"
    return replace(verdict, message=f"{verdict.message}; could have detected {digits}{unit} (80 % power)")


# -- Holm ---------------------------------------------------------------------------------------------------------


def adjusted(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given: max over the smaller ones of (m - rank) x p, at most 1."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    out, running = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[i]))
        out[i] = running
    return out


def _holm(verdicts: Sequence[Verdict], drawn: Sequence[np.ndarray]) -> tuple[Verdict, ...]:
    """The verdicts with those taken back whose evidence does not survive.

    All that could have been decided are counted: a family of only those that were, chosen by the data, would not bound
    the chance of a false decision.
    """
    tested = [i for i, values in enumerate(drawn) if len(values)]
    p = adjusted([_p_value(verdicts[i], drawn[i]) for i in tested])
    out = list(verdicts)
    for i, value in zip(tested, p, strict=True):
        said = f"Holm-adjusted p = {value:.4f} among {len(tested)} verdicts"
        verdict = verdicts[i]
        if not _tests(verdict):
            continue
        if value <= LEVEL:
            out[i] = replace(verdict, message=f"{verdict.message}; {said}")
        elif verdict.gate.on == "interval":
            out[i] = replace(
                verdict, result="undecided", message=f"{verdict.message}; the bound is not kept beyond chance ({said})"
            )
        else:
            out[i] = replace(
                verdict, result="undecided", message=f"{verdict.message}; missed, but not beyond chance ({said})"
            )
    return tuple(out)


def _tests(verdict: Verdict) -> bool:
    """Whether a decision rests on chance: a pass on the interval, a failure on the estimate (not a dead arm)."""
    return verdict.result == ("pass" if verdict.gate.on == "interval" else "fail") and _misses(verdict) is not None


def _misses(verdict: Verdict) -> bool | None:
    value, gate = verdict.estimate.value, verdict.gate
    if value is None:
        return None
    missed = (gate.at_least is not None and value < gate.at_least) or (
        gate.at_most is not None and value > gate.at_most
    )
    return None if gate.on == "estimate" and not missed else missed


def one_sided(distance: float, standard_error: float, n_units: int) -> float:
    """P(an estimate this far on the good side | the truth is on the bound); a negative distance is on the bad side."""
    if n_units < 2:
        return 1.0
    if standard_error < FLAT:
        return 0.5**n_units if distance > FLAT else 1.0
    return float(stats.t.sf(distance / standard_error, n_units - 1))


def _p_value(verdict: Verdict, values: np.ndarray) -> float:
    """Of the decision: the truth is inside the bounds for a pass, outside them for a failure."""
    gate, estimate = verdict.gate, verdict.estimate
    error, value = float(values.std()), estimate.value or 0.0
    ends = [value - gate.at_least] if gate.at_least is not None else []
    ends += [gate.at_most - value] if gate.at_most is not None else []
    if gate.on == "interval":  # both bounds must hold, so the worse one counts
        return max(one_sided(d, error, estimate.n_units) for d in ends)
    return one_sided(-min(ends), error, estimate.n_units)
