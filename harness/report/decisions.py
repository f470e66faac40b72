"""Profiles of gates, what a verdict could have detected, and decisions that allow for how many were made.

A profile of ``specs/gates.yaml`` is a list of gates, or ``{holm: true, gates: [...]}``. With ``holm`` the verdicts of one
session are one family, and Holm's step-down procedure (Holm 1979) bounds the chance of a single false decision by 5 %:

- a gate on the *interval* passes only if its evidence for the bound survives the adjustment (one-sided 2.5 %);
- a gate on the *estimate* fails only if its evidence against the bound does; one that merely misses it is undecided.

One-sided p-values are shares of the resampled values on the other side of the bound, (k + 1) / (B + 1). With B = 2,000 the
least is 0.0005, which is enough for about 50 verdicts.

The minimum detectable effect of an estimate is the difference from a bound that this n finds with 80 % power at a
two-sided 5 % level: (z(0.975) + z(0.8)) x SE = 2.80 SE, with SE the standard deviation of the resampled values. Where no
instance differs from another SE is 0 and the effect that n instances cannot exclude stands for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from ..bootstrap import Resamples
from ..errors import Problem, SpecError, near
from ..gates import evaluate, gates_of
from ..intervals import RANGES, without_variance
from ..metrics.metric import load
from ..outcome import Estimate, Gate, Verdict
from ..rows import Rows

LEVEL = 0.025
"""One-sided, as the end of a 95 % interval."""
POWER = 0.8
_EACH = "*"


@dataclass(frozen=True, slots=True)
class Profile:
    """The gates of a session and how they are decided; without gates nothing is judged."""

    gates: tuple[Gate, ...] = ()
    holm: bool = False
    name: str = ""


NO_PROFILE = Profile()


def profile(profiles: Mapping[str, Any], name: str | None, file: str = "specs/gates.yaml", **more: Any) -> Profile:
    """The profile of this name; ``more`` goes to :func:`harness.gates.gates_of`.

    Raises:
        SpecError: no such profile, or faults in the file.
    """
    if not name:
        return NO_PROFILE
    plain = {key: value["gates"] if _adjusted(value) else value for key, value in profiles.items()}
    made = gates_of(plain, file, **more)
    if name not in made:
        raise SpecError(Problem("--gate", 0, "", f"{name!r} is not a profile of {file}{near(name, made)}"))
    return Profile(made[name], _adjusted(profiles[name]) and bool(profiles[name].get("holm")), name)


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
    where = {c: v for c, v in verdict.gate.where.items() if v != _EACH}
    values = metric.compute(metric.select(rows.where(model=verdict.model).where(where)), resamples.weights)
    return values[np.isfinite(values)]


# -- power --------------------------------------------------------------------------------------------------------


def detectable(estimate: Estimate, standard_error: float, power: float = POWER) -> float | None:
    """The least difference that this n finds, in the unit of the estimate; None without an interval."""
    if estimate.value is None or estimate.interval is None:
        return None
    if standard_error > 1e-9:
        return (NormalDist().inv_cdf(1 - LEVEL) + NormalDist().inv_cdf(power)) * standard_error
    if estimate.unit not in RANGES:
        return None
    low, high = without_variance(estimate.value, estimate.n_instances, estimate.unit)
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
    """The verdicts with those taken back whose evidence does not survive."""
    tested = [i for i, (v, values) in enumerate(zip(verdicts, drawn, strict=True)) if len(values) and _tests(v)]
    p = adjusted([_p_value(verdicts[i], drawn[i]) for i in tested])
    out = list(verdicts)
    for i, value in zip(tested, p, strict=True):
        said = f"Holm-adjusted p = {value:.4f} among {len(tested)} verdicts"
        verdict = verdicts[i]
        if value <= LEVEL:
            out[i] = replace(verdict, message=f"{verdict.message}; {said}")
        elif verdict.gate.on == "interval":
            out[i] = replace(verdict, result="undecided",
                             message=f"{verdict.message}; the bound is not kept beyond chance ({said})")
        else:
            out[i] = replace(verdict, result="undecided",
                             message=f"{verdict.message}; missed, but not beyond chance ({said})")
    return tuple(out)


def _tests(verdict: Verdict) -> bool:
    """Whether a decision rests on chance: a pass on the interval, a failure on the estimate (not a dead arm)."""
    return verdict.result == ("pass" if verdict.gate.on == "interval" else "fail") and _misses(verdict) is not None


def _misses(verdict: Verdict) -> bool | None:
    value, gate = verdict.estimate.value, verdict.gate
    if value is None:
        return None
    missed = (gate.at_least is not None and value < gate.at_least) or (gate.at_most is not None and value > gate.at_most)
    return None if gate.on == "estimate" and not missed else missed


def _p_value(verdict: Verdict, values: np.ndarray) -> float:
    """Share of resamples against the decision: outside the bounds for a pass, inside them for a failure."""
    gate = verdict.gate
    low = -np.inf if gate.at_least is None else gate.at_least
    high = np.inf if gate.at_most is None else gate.at_most
    if gate.on == "interval":  # both ends must hold, so the worse one counts
        against = max(int((values < low - 1e-9).sum()), int((values > high + 1e-9).sum()))
    else:
        against = int(((values >= low) & (values <= high)).sum())
    return (against + 1) / (len(values) + 1)
