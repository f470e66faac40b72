"""How many instances a study needs, from the variance between the instances of a pilot run.

With SD the standard deviation of one instance's contribution (SE of the pilot x sqrt(n)), a two-sided test at level
alpha finds an effect d with the wanted power from n = ((t(1 - alpha/2, n - 1) + t(power, n - 1)) x SD / d)^2 instances
on; the t quantiles depend on n, so n is found by repetition (Chow, Shao and Wang, Sample Size Calculations in Clinical
Research). All requests of one instance stay together: more views or variants of the same instances do not raise n.
Where instances come in clusters, SE is that of resampled clusters: n is of instances in clusters as large as the pilot's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from ..bootstrap import Resamples
from ..errors import DataError
from ..intervals import RANGES, without_variance
from ..metrics.metric import load
from ..outcome import Estimate, Outcome
from ..rows import Rows

FEWEST = 5
"""Instances of a pilot, or clusters of them, below which its variance says too little."""


@dataclass(frozen=True, slots=True)
class Need:
    """What one estimate needs.

    Attributes:
        what: the model, or two of them whose difference is estimated.
        value, sd: of the pilot; ``sd`` between instances, in the unit of the metric.
        pilot_n: its instances.
        flat: the pilot shows no variance, and ``sd`` is what its n cannot exclude.
        instances: needed.
    """

    metric: str
    what: str
    value: float
    sd: float
    pilot_n: int
    flat: bool
    instances: int


def required(sd: float, effect: float, power: float = 0.8, alpha: float = 0.05) -> int:
    """Instances for an effect in the unit of ``sd``; at least 2.

    Raises:
        DataError: the effect is not positive, or power or alpha are no shares.
    """
    if not effect > 0:
        raise DataError(f"--effect {effect:g}: not a positive number of points, e.g. 10")
    for name, value in (("--power", power), ("--alpha", alpha)):
        if not 0 < value < 1:
            raise DataError(f"{name} {value:g}: not between 0 and 1, e.g. {0.8 if name == '--power' else 0.05}")
    if sd <= 0:
        return 2
    n = max(2.0, ((stats.norm.ppf(1 - alpha / 2) + stats.norm.ppf(power)) * sd / effect) ** 2)
    for _ in range(20):
        df = max(1, math.ceil(n) - 1)
        again = ((stats.t.ppf(1 - alpha / 2, df) + stats.t.ppf(power, df)) * sd / effect) ** 2
        if math.ceil(again) == math.ceil(n):
            break
        n = max(2.0, (again + n) / 2)
    return math.ceil(n)


def needs(
    outcomes: Iterable[Outcome],
    metrics: Sequence[str],
    effect: float,
    power: float = 0.8,
    alpha: float = 0.05,
    seed: int = 0,
) -> list[Need]:
    """For each metric: what each model of a pilot needs, and the difference of each two of them on the same instances.

    Raises:
        DataError: the pilot has too few instances.
    """
    rows = Rows.of(outcomes)
    if rows.n_units < FEWEST:
        what = "instances" if rows.n_units == rows.n_instances else "clusters of instances"
        raise DataError(f"the pilot has {rows.n_units} {what}; its variance needs {FEWEST} or more")
    draws = Resamples.draw(rows, 2000, seed)
    made = []
    for name in metrics:
        metric = load(name)
        found: list[tuple[str, Estimate, np.ndarray]] = []
        for model, part in rows.split("model"):
            estimate, drawn = draws.drawn(metric, part)
            if estimate.value is not None and estimate.n_units > 1:
                found.append((model, estimate, drawn))
        pairs = [
            (f"{b[0]} - {a[0]}", _less(b[1], a[1]), b[2] - a[2]) for i, a in enumerate(found) for b in found[i + 1 :]
        ]
        for what, estimate, drawn in [*found, *pairs]:
            value, n = estimate.value or 0.0, estimate.n_instances
            drawn = drawn[np.isfinite(drawn)]
            error, flat = float(drawn.std()) if len(drawn) else 0.0, False
            sd = error * math.sqrt(n)
            if sd < 1e-9 and metric.unit in RANGES:
                low, high = without_variance(value, estimate.n_units, estimate.unit)
                sd, flat = max(value - low, high - value) * math.sqrt(n) / 1.96, True
            made.append(Need(name, what, value, sd, n, flat, required(sd, effect, power, alpha)))
    return made


def _less(a: Estimate, b: Estimate) -> Estimate:
    unit = "points" if a.unit in RANGES else a.unit
    return Estimate((a.value or 0.0) - (b.value or 0.0), None, min(a.n_instances, b.n_instances),
                    min(a.n_requests, b.n_requests), unit, min(a.n_units, b.n_units))
