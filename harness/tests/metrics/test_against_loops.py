"""The vectorised metrics against slow obvious ones: each resample written out as a list of rows, then counted."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.metrics.metric import load
from harness.rows import Rows
from harness.tests.validity.synthetic import questions, row

VIEWS = ("table_nm", "table_ev", "table_ev_desc", "plot_nm")


@st.composite
def outcomes(draw):
    """A few instances of every task, answered at random, some replies unreadable and some rows missing."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, keep, readable = draw(st.integers(1, 4)), draw(st.sampled_from([1.0, 0.8])), draw(st.sampled_from([1.0, 0.7]))
    made = []
    for scope in (False, True):
        for q in questions(n, VIEWS, scope):
            if random.random() > keep:
                continue
            p = round(float(random.random()), 2)
            choice = str(random.choice([q.expected, *q.wrong, "undetermined"]))
            made.append(
                row(
                    spec="scope" if scope else "main",
                    task=q.task,
                    instance=q.instance,
                    variant=q.variant,
                    view=q.view,
                    core=q.core and q.view != "table_ev_desc",
                    cut=q.cut,
                    deletion=q.deletion,
                    wording=q.wording,
                    first=q.first,
                    decoy=q.decoy,
                    expected=q.expected,
                    choice=choice,
                    status="usable" if random.random() < readable else "unparsed",
                    model=str(random.choice(["m", "n"])),
                    repeat=int(random.integers(2)),
                    confidence=p,
                    probabilities={choice: p, "other": 1 - p},
                    probability_kind="readout",
                )
            )
    return made


def drawn(outcomes, weights, units):
    """The resample as rows: a unit drawn k times is there k times, as k different instances."""
    made = []
    for unit, k in zip(units, weights, strict=True):
        for copy in range(int(k)):
            made += [replace(o, instance=f"{o.instance}#{copy}") for o in outcomes if (o.spec, o.instance) == unit]
    return made


def mean(values):
    values = list(values)
    return 100 * math.fsum(values) / len(values) if values else math.nan


def right(o):
    return o.status == "usable" and o.choice == o.expected


def gone(o):
    return o.status == "usable" and o.choice == "undetermined"


def core(rows):
    return [o for o in rows if o.core]


def grouped(rows, *columns):
    out = defaultdict(list)
    for o in rows:
        out[tuple(getattr(o, c) for c in columns)].append(o)
    return out


KEY = ("spec", "task", "instance", "variant", "view", "template", "repeat", "model")
VARIANT = tuple(c for c in KEY if c != "view")
QUESTION = tuple(c for c in KEY if c != "variant")


def partner(rows, column, reference):
    others = tuple(c for c in KEY if c != column)
    found = {tuple(getattr(o, c) for c in others): o for o in rows if getattr(o, column) == reference}
    return lambda o: found.get(tuple(getattr(o, c) for c in others))


def pairs(rows, column, reference):
    of = partner(rows, column, reference)
    return [(o, of(o)) for o in rows if getattr(o, column) != reference and of(o)]


def accuracy(rows):
    return mean(map(right, rows))


def accuracy_usable(rows):
    return mean(right(o) for o in rows if o.status == "usable")


def attrition(rows):
    return mean(o.status != "usable" for o in rows)


def paired_difference(rows):
    return mean(right(o) - right(p) for o, p in pairs(core(rows), "view", "table_nm"))


def flip_rate(rows):
    return mean(o.choice != p.choice for o, p in pairs(rows, "view", "table_nm") if o.status == p.status == "usable")


def reproducibility(rows):
    return mean(o.status == p.status == "usable" and o.choice == p.choice for o, p in pairs(rows, "repeat", 0))


def row_order_effect(rows):
    return mean(right(o) - right(p) for o, p in pairs(rows, "view", "table_ev") if o.view == "table_ev_desc")


def complete_variants(rows, everything):
    views = {spec: {o.view for o in core(everything) if o.spec == spec} for spec in ("main", "scope")}
    return [g for g in grouped(core(rows), *VARIANT).values() if len(g) == len(views[g[0].spec]) > 1]


def agreement_all(rows, everything):
    return mean(
        len({o.choice if o.status == "usable" else o.key for o in g}) == 1 for g in complete_variants(rows, everything)
    )


def consistent_wrong(rows, everything):
    return mean(
        len({o.choice if o.status == "usable" else o.key for o in g}) == 1 and not right(g[0])
        for g in complete_variants(rows, everything)
    )


def all_correct_independent(rows, everything):
    variants = complete_variants(rows, everything)
    total = 0.0
    for group in grouped([g[0] for g in variants], "spec", "task", "template", "model").values():
        here = [
            g for g in variants if (g[0].spec, g[0].task, g[0].model) == (group[0].spec, group[0].task, group[0].model)
        ]
        chance = 1.0
        for view in {o.view for o in here[0]}:
            chance *= mean(right(o) for g in here for o in g if o.view == view) / 100
        total += len(here) * chance
    return 100 * total / len(variants) if variants else math.nan


def wording_effect(rows):
    groups = [
        g for g in grouped([o for o in rows if o.wording], *QUESTION).values() if len({o.wording for o in g}) == 2
    ]
    return mean(right(o) for g in groups for o in g if o.wording == "energy") - mean(
        right(o) for g in groups for o in g if o.wording == "wavelength"
    )


def with_cuts(rows, *cuts):
    return [
        {o.cut: o for o in g}
        for g in grouped([o for o in rows if o.cut in cuts], *QUESTION).values()
        if {o.cut for o in g} == set(cuts)
    ]


def d_scope(rows):
    return mean(gone(g["inside"]) - gone(g["outside"]) for g in with_cuts(rows, "inside", "outside"))


def delta_out(rows):
    return mean(right(g["outside"]) - right(g["full"]) for g in with_cuts(rows, "outside", "full"))


def scope_full(rows):
    return mean(right(g["full"]) for g in with_cuts(rows, "outside", "full"))


def high_confidence_errors(rows):
    speaking = {o.model for o in rows if o.status == "usable"}
    return mean(o.status == "usable" and not right(o) and max(o.probabilities.values()) >= 0.9
                for o in rows if o.model in speaking)


def brier(rows):
    return mean(
        sum((p - (k == o.expected)) ** 2 for k, p in ({o.expected: 0.0} | o.probabilities).items()) / 100
        for o in rows
        if o.status == "usable"
    )


def calibration_error(rows):
    rows = [o for o in rows if o.status == "usable"]
    if not rows:
        return math.nan
    top = {o.key: max(o.probabilities.values()) for o in rows}
    rows = sorted(rows, key=lambda o: int(top[o.key] * 10))
    gaps = 0.0
    for _, part in groupby(rows, key=lambda o: min(int(top[o.key] * 10), 9)):
        gaps += abs(sum(right(o) - top[o.key] for o in part))
    return 100 * gaps / len(rows)


def position_preference(rows):
    return mean(o.choice == o.first for o in core(rows) if o.first and o.status == "usable")


def visible_extremum_share(rows):
    return mean(o.choice == o.decoy for o in rows if o.cut == "inside" and o.decoy and o.status == "usable")


def specification_decoy_share(rows):
    return mean(
        o.choice == o.decoy for o in core(rows) if o.task == "specification" and o.status == "usable" and not right(o)
    )


def middle_gap_abstention(rows):
    return mean(gone(o) for o in rows if (o.cut, o.deletion) == ("inside", "middle"))


SLOW = [
    accuracy,
    accuracy_usable,
    attrition,
    paired_difference,
    flip_rate,
    reproducibility,
    row_order_effect,
    wording_effect,
    d_scope,
    delta_out,
    scope_full,
    brier,
    calibration_error,
    position_preference,
    visible_extremum_share,
    specification_decoy_share,
    middle_gap_abstention,
]
OF_EVERYTHING = [agreement_all, consistent_wrong, all_correct_independent]
quick = settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def resamples(rows, seed=0):
    """One of each instance, and two random draws."""
    random, n = np.random.default_rng(seed), len(rows.units)
    return np.vstack([np.ones(n), *(np.bincount(random.integers(0, n, n), minlength=n) for _ in range(2))]) * 1.0


@pytest.mark.parametrize("slow", SLOW, ids=lambda f: f.__name__)
@given(outcomes=outcomes())
@quick
def test_metric_equals_counting_rows(slow, outcomes):
    rows = Rows.of(outcomes)
    weights = resamples(rows)
    expected = [slow(drawn(outcomes, w, rows.units)) for w in weights]
    np.testing.assert_allclose(load(slow.__name__)(rows, weights), expected, atol=1e-9)


@pytest.mark.parametrize("slow", OF_EVERYTHING, ids=lambda f: f.__name__)
@given(outcomes=outcomes())
@quick
def test_agreement_equals_counting_variants(slow, outcomes):
    rows = Rows.of(outcomes)
    weights = resamples(rows)
    expected = [slow(drawn(outcomes, w, rows.units), outcomes) for w in weights]
    np.testing.assert_allclose(load(slow.__name__)(rows, weights), expected, atol=1e-9)


@given(outcomes=outcomes())
@quick
def test_high_confidence_errors_equal_counting_rows(outcomes):
    rows = Rows.of(outcomes)
    got = load("high_confidence_errors")(rows, np.ones((1, len(rows.units))))[0]
    np.testing.assert_allclose(got, high_confidence_errors(outcomes), atol=1e-9)
