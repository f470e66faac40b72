"""What became of the requests, how far probabilities can be trusted, and what accuracy costs."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ...bootstrap import share, total
from ...metrics.confidence import BINS, with_probabilities
from ...metrics.metric import load
from ...outcome import LOST, STATUSES, Table
from ...rows import Rows
from ..document import Document
from .style import INK, SOFT, Look, bar, legend, lines_down, names, panels, rows_of, short, value_of

STATUS_COLOURS = dict(
    zip((*STATUSES, LOST), ("#cc79a7", "#e69f00", "#d55e00", "#7f6bd0", "#009e73", "#9aa1ab"), strict=True)
)
HATCHES = dict(zip((*STATUSES, LOST), ("xx", "////", "....", "\\\\\\\\", "", "--"), strict=True))


def attrition(table: Table, document: Document) -> Figure | None:
    """A bar a model and spec: its requests by status."""
    rows = [r for r in rows_of(table) if r["task"] == "all"]
    figure, axes = panels(1, 0.24 * len(rows) + 0.6)
    axis = axes[0]
    for i, r in enumerate(rows):
        n, left = sum(r[s] for s in (*STATUSES, LOST)) or 1, 0.0
        for status in ("usable", *STATUSES[:4], LOST):
            width = 100 * r[status] / n
            if width:
                axis.barh(
                    i,
                    width,
                    left=left,
                    height=0.66,
                    color=STATUS_COLOURS[status],
                    hatch=HATCHES[status],
                    edgecolor=INK,
                    linewidth=0,
                    label=status.replace("_", " "),
                )
            left += width
    one = len(names(rows, "spec")) == 1
    lines_down(axis, [r["line"] if one else f"{r['spec']}  {r['line']}" for r in rows])
    axis.set_xlim(0, 100)
    axis.set_xlabel("% of requests")
    legend(axis, ncols=3)
    return figure


def reliability(table: Table, document: Document) -> Figure | None:
    """Accuracy of core requests by their highest probability, with the expected calibration error of each model."""
    wanted = [r for r in rows_of(table) if value_of(r["calibration error, points"]) is not None]
    if not wanted:
        return None
    look = Look(sorted(names(wanted)))
    specs = list(dict.fromkeys((str(r["spec"]), str(r["probabilities"])) for r in wanted))
    figure, axes = panels(len(specs), 2.2 + 0.11 * len(look), columns=3)
    for axis, (spec, kind) in zip(axes, specs, strict=True):
        axis.plot([0, 100], [0, 100], color=SOFT, linewidth=0.8)
        for r in wanted:
            if (str(r["spec"]), str(r["probabilities"])) != (spec, kind):
                continue
            rows = with_probabilities(
                document.rows.where(
                    spec=spec,
                    model=r["model"],
                    probability_kind=kind,
                    core=True,
                    **({"template": r["template"]} if "template" in r else {}),
                )
            )
            label = f"{short(r['line'], 30)}: ECE {value_of(r['calibration error, points']):.1f}"
            _bins(axis, rows, document, look.colour(r["line"]), look.marker(r["line"]), label)
        axis.set_xlim(0, 103)
        axis.set_ylim(-3, 103)
        axis.set_aspect("equal")
        axis.set_title(f"{short(spec, 30)}\n{kind} probabilities", fontsize=6.5)
        axis.set_xlabel("highest probability, %")
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.27), fontsize=5.5, borderpad=0.1)
    axes[0].set_ylabel("% right")
    return figure


def _bins(axis: Any, rows: Rows, document: Document, colour: str, marker: str, label: str) -> None:
    """Points of the bins of :func:`harness.metrics.confidence.calibration_error`, with intervals over instances."""
    confidence = np.array([max(o.probabilities.values()) for o in rows.outcomes])
    at = np.minimum((confidence * BINS).astype(int), BINS - 1)
    x, y, errors = [], [], []
    for b in np.unique(at):
        part = rows.take(at == b)
        value = float(100 * part.correct.mean())
        with np.errstate(invalid="ignore"):
            drawn = share(part, document.resamples.weights, part.correct)
            drawn = drawn[np.isfinite(drawn) & (total(part, document.resamples.weights) > 0)]
        low, high = np.quantile(drawn, (0.025, 0.975)) if len(drawn) and part.n_units > 1 else (value, value)
        x.append(float(100 * confidence[at == b].mean()))
        y.append(value)
        errors.append((max(0.0, value - low), max(0.0, high - value)))
    axis.errorbar(
        x,
        y,
        yerr=np.array(errors).T,
        fmt=f"{marker}-",
        color=colour,
        markersize=3.2,
        linewidth=0.9,
        elinewidth=0.7,
        capsize=1.4,
        label=label,
    )


def cost_and_accuracy(table: Table, document: Document) -> Figure | None:
    """Accuracy against what 1,000 requests cost: dollars, else seconds, else tokens, whichever all state."""
    rows = rows_of(table)
    for column, scale, label in (
        ("cost, USD", 1000.0, "US dollars a thousand requests"),
        ("latency median, s", 1.0, "median seconds a request"),
        ("tokens in", 1.0, "input tokens a request"),
    ):
        priced = [r for r in rows if value_of(r.get(column)) not in (None, 0.0)]
        if not priced:
            continue
        per_request = column != "latency median, s"
        look = Look(sorted(names(rows)))
        figure, axes = panels(1, 2.4)
        axis, accuracy = axes[0], load("accuracy")
        drawn = 0
        for k, spec in enumerate(names(priced, "spec")):
            for r in priced:
                if r["spec"] != spec:
                    continue
                estimate = document.resamples.estimate(accuracy, document.rows.where(spec=spec, model=r["model"]))
                x = scale * (value_of(r[column]) or 0.0) / (r["requests"] if per_request else 1)
                bar(
                    axis,
                    x,
                    estimate,
                    vertical=True,
                    colour=look.colour(r["line"]),
                    marker="osD^vPX*"[k % 8],
                    label=short(f"{r['line']}, {spec}", 44),
                )
                drawn += 1
        axis.set_xscale("log")
        axis.set_ylim(-3, 103)
        axis.set_xlabel(label)
        axis.set_ylabel("% right, all requests")
        axis.grid(axis="y")
        legend(axis, ncols=2)
        return figure
    return None
