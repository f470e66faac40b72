"""Speed of plots: ratios within one run, so that they hold on any machine.

The rival makes a fresh matplotlib figure for every plot and saves it, which is what one would write first; it draws
the same: 800 x 500 pixels, labelled axes, a grid, one or two lines, a legend. The plots are those of a suite: every
spectrum is another one, the axes fit the data, and views alternate, so nothing is served twice. Digitising is measured
against the same rival: a run reads every plot once, and that must not cost more than drawing it the plain way.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from harness.oracle.plots import read_plot
from harness.render.plot import render_plot
from harness.spectrum import AXIS_UNITS, Spectrum
from harness.tests.render.samples import plot_view, wild

COUNT = 12
VIEWS = (plot_view("nm"), plot_view("eV"))


@pytest.fixture(scope="module")
def suite() -> list[tuple[list[Spectrum], object]]:
    rng = np.random.default_rng(2)
    return [([wild(rng) for _ in range(1 + i // 2 % 2)], VIEWS[i % 2]) for i in range(COUNT)]


def fresh_figure(spectra: list[Spectrum], view) -> bytes:
    figure = Figure(figsize=(8, 5), dpi=100)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for spectrum, name in zip(spectra, "AB", strict=False):
        axes.plot(AXIS_UNITS[view.unit].from_nm(spectrum.wavelength_nm), spectrum.response, label=f"Spectrum {name}")
    axes.set_xlabel("Wavelength (nm)")
    axes.set_ylabel("Transmission")
    axes.grid(True)
    if len(spectra) > 1:
        axes.legend(loc="upper right")
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return out.getvalue()


def ours(spectra: list[Spectrum], view) -> bytes:
    return render_plot(spectra, "AB"[: len(spectra)], view)


def seconds(run: Callable[[], object], rounds: int = 3) -> float:
    """Best of several rounds: other work on the machine only ever adds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


@pytest.fixture(scope="module")
def plain(suite) -> float:
    """Seconds for the suite with fresh figures."""
    return seconds(lambda: [fresh_figure(*s) for s in suite])


def test_a_plot_is_at_least_five_times_faster_than_a_fresh_figure(benchmark, suite, plain):
    benchmark.group = "plots"
    benchmark.pedantic(lambda: [ours(*s) for s in suite], rounds=3, warmup_rounds=1)
    ratio = plain / benchmark.stats.stats.min
    benchmark.extra_info["ratio"] = round(ratio, 1)
    assert ratio >= 5


def test_reading_a_plot_costs_less_than_drawing_a_fresh_figure(benchmark, suite, plain):
    benchmark.group = "plots"
    pngs = [ours(*s) for s in suite]
    benchmark.pedantic(lambda: [read_plot(p) for p in pngs], rounds=3, warmup_rounds=1)
    ratio = plain / benchmark.stats.stats.min
    benchmark.extra_info["ratio"] = round(ratio, 1)
    assert ratio >= 1
