"""How many instances a study needs, from the variance between the instances of a pilot run.

With SD the standard deviation of one instance's contribution (SE of the pilot x sqrt(n)), a two-sided test at level
alpha finds an effect d with the wanted power from n >= ((t(1 - alpha/2, n - 1) + t(power, n - 1)) x SD / d)^2 instances
on; the t quantiles depend on n, so the smallest such n is searched for (Chow, Shao and Wang, Sample Size Calculations in
Clinical Research). All requests of one instance stay together: more views or variants of the same instances do not raise n.
Where instances come in clusters, SE is that of resampled clusters: n is of instances in clusters as large as the pilot's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from ..bootstrap import RESAMPLES, Resamples
from ..errors import DataError
from ..intervals import LEVEL, RANGES
from ..metrics.metric import Metric, load
from ..outcome import Estimate, Outcome
from ..rows import Rows
from .arms import place

FEWEST = 5
"""Instances of a pilot, or clusters of them, below which its variance says too little."""
MOST = 10**9
"""Instances above which a plan is taken for a slip."""
SPANS = {**RANGES, "score": (0.0, 2.0)}
"""The least and the greatest value of a metric in this unit. The one score is Brier's."""


@dataclass(frozen=True, slots=True)
class Need:
    """What one estimate needs.

    Attributes:
        what: the model, or two of them whose difference is estimated.
        value, sd: of the pilot, for two models on the requests that both were asked; ``sd`` between instances.
        unit: of the metric, for ``value`` and ``sd``.
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
    unit: str = "%"


def required(sd: float, effect: float, power: float = 0.8, alpha: float = 0.05) -> int:
    """Instances for an effect in the unit of ``sd``; at least 2.

    Raises:
        DataError: the effect is not positive, or power or alpha are no shares.
    """
    if not 0 < effect < math.inf:
        raise DataError(f"--effect {effect:g}: not a positive number of points, e.g. 10")
    for name, value in (("--power", power), ("--alpha", alpha)):
        if not 0 < value < 1:
            raise DataError(f"{name} {value:g}: not between 0 and 1, e.g. {0.8 if name == '--power' else 0.05}")

    def suffice(n: int) -> bool:
        level = abs(stats.t.isf(alpha / 2, n - 1))  # scipy's is -inf far out in the tail
        quantiles = level + stats.t.ppf(power, n - 1)
        return bool(quantiles * sd / effect <= math.sqrt(n))

    if sd <= 0 or suffice(2):
        return 2
    low, high = 2, 4  # the first does not suffice
    while not suffice(high):
        low, high = high, 2 * high
        if low > MOST:
            raise DataError(
                f"--effect {effect:g} with --alpha {alpha:g} and --power {power:g}: needs more than {MOST:,} instances; "
                f"ask for a larger effect, e.g. 10, or less certainty"
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffice(middle) else (middle, high)
    return high


def possible(effect: float, name: str, unit: str) -> None:
    """Refuse an effect that no metric in this unit can show, such as ten points of a score.

    Raises:
        DataError: it is wider than all values of the metric.
    """
    low, high = SPANS.get(unit, (-math.inf, math.inf))
    if effect > high - low:
        raise DataError(
            f"--effect {effect:g}: {name} goes from {low:g} to {high:g}; give a difference in its unit, "
            f"e.g. {(high - low) / 10:g}"
        )


def needs(
    outcomes: Iterable[Outcome],
    metrics: Sequence[str],
    effect: float,
    power: float = 0.8,
    alpha: float = 0.05,
    seed: int = 0,
) -> list[Need]:
    """For each metric: what each model of a pilot needs, and the difference of each two of them on the same requests.

    Args:
        effect: in the unit of the metrics, points for percentages.

    Raises:
        DataError: the pilot has too few instances, or a metric cannot show such an effect.
    """
    outcomes = list(outcomes)
    rows = Rows.of(outcomes)
    if rows.n_units < FEWEST:
        what = "instances" if rows.n_units == rows.n_instances else "clusters of instances"
        raise DataError(f"the pilot has {rows.n_units} {what}; its variance needs {FEWEST} or more")
    everything = rows, Resamples.draw(rows, RESAMPLES, seed)
    models = rows.distinct("model")
    pairs = [(a, b, _shared(outcomes, a, b, seed)) for i, a in enumerate(models) for b in models[i + 1 :]]
    made = []
    for name in metrics:
        metric = load(name)
        possible(effect, name, metric.unit)
        found = [(model, False, sample) for model in models if (sample := _sample(metric, model, *everything))]
        for a, b, both in pairs:
            if (one := _sample(metric, a, *both)) and (two := _sample(metric, b, *both)):
                found.append((f"{b} - {a}", True, (_less(two[0], one[0]), two[1] - one[1])))
        for what, difference, (estimate, drawn) in found:
            drawn = drawn[np.isfinite(drawn)]
            n, value = estimate.n_instances, estimate.value or 0.0
            sd = float(drawn.std()) * math.sqrt(n) if len(drawn) else 0.0
            flat = sd < 1e-9 and metric.unit in SPANS
            if flat:
                sd = _not_excluded(value, n, estimate.n_units, metric.unit, difference)
            made.append(Need(name, what, value, sd, n, flat, required(sd, effect, power, alpha), metric.unit))
    return made


def _shared(outcomes: Sequence[Outcome], a: str, b: str, seed: int) -> tuple[Rows, Resamples]:
    """The requests that both models were asked, or their difference would be one of their questions too."""
    asked = [{place(o) for o in outcomes if o.model == model} for model in (a, b)]
    shared = asked[0] & asked[1]
    rows = Rows.of(o for o in outcomes if o.model in (a, b) and place(o) in shared)
    return rows, Resamples.draw(rows, RESAMPLES, seed)


def _sample(metric: Metric, model: str, rows: Rows, draws: Resamples) -> tuple[Estimate, np.ndarray] | None:
    """A model's estimate and its resampled values; None where it has too few clusters with data."""
    estimate, drawn = draws.drawn(metric, rows.where(model=model))
    return None if estimate.value is None or estimate.n_units < 2 else (estimate, drawn)


def _less(a: Estimate, b: Estimate) -> Estimate:
    return Estimate((a.value or 0.0) - (b.value or 0.0), None, min(a.n_instances, b.n_instances),
                    min(a.n_requests, b.n_requests), a.unit, min(a.n_units, b.n_units))


def _not_excluded(value: float, n: int, units: int, unit: str, difference: bool) -> float:
    """The SD that equal clusters cannot exclude: that of the share of them that could differ as far as the range allows
    (see :func:`harness.intervals.without_variance`), and never more than a range can have, half its width."""
    low, high = SPANS[unit]
    if difference:
        low, high = low - high, high - low
    share = 1 - ((1 - LEVEL) / 2) ** (1 / units)
    error = share * max(value - low, high - value) / 1.96
    return float(min(error, (high - low) / 2 / math.sqrt(units)) * math.sqrt(n))
