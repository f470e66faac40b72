"""The pool that ``pico`` is base-trained on: synthetic spectra drawn on the fly, asked in the words of the specs.

No structure of any dataset is used, so the pool is disjoint from every test set and from every arm's pool by
construction. Dips are products of Lorentzian and Fano lines on a sloping background; peaks are sums of Gaussian and
Lorentzian bands on a decaying one. The clean rule of section 3.1 decides what is asked about. Tables are always
complete and 'cannot be determined' is never right: the base model has never seen a reason to abstain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from harness import prompts
from harness.datasets.clean import CleanRule, clean
from harness.probe import ABSTAIN, Request, RequestKey, Variant, View
from harness.render import renderer
from harness.spec import Spec, load
from harness.spectrum import AXIS_UNITS, Spectrum
from harness.tasks.answers import band_keys, band_of, clear_of, clear_side, side_of
from harness.tasks.pool import extremum_index

SPECS = ("metasurface-main", "metasurface-scope", "gold-main", "gold-scope")
DIP_NM = np.arange(450.0, 731.0, 10.0)
PEAK_NM = np.arange(450.0, 801.0, 5.0)
NAMES = ("A", "B", "C")
VIEWS = ("table_nm", "table_um", "table_sci", "table_ev", "table_ev", "table_ev_desc")


@dataclass(frozen=True, slots=True)
class Sheet:
    """One table with all the questions asked about it.

    Attributes:
        evidence: the text of the message up to and including the blank line before the question.
        questions: (rest of the message, right letter), a list.
        axis: (n,) displayed order of the rows as wavelengths, nm.
        columns: (k, n) displayed values in that order.
    """

    evidence: str
    questions: tuple[tuple[str, str], ...]
    axis: np.ndarray
    columns: np.ndarray


def load_specs(folder: Path) -> dict[str, Spec]:
    return {name: load(folder / "invariance" / f"{name}.yaml") for name in SPECS}


def dips(rng: np.random.Generator, count: int) -> np.ndarray:
    """(count, 29) transmission at ``DIP_NM``."""
    x = DIP_NM[None]
    t = rng.uniform(0.55, 1.0, (count, 1)) + rng.normal(0, 0.12, (count, 1)) * (x - 590) / 140
    t = t + rng.normal(0, 0.04, (count, 1)) * np.cos((x - 450) / rng.uniform(30, 90, (count, 1)))
    for k in range(4):
        there = rng.random((count, 1)) < (1.0, 0.7, 0.45, 0.25)[k]
        centre = rng.uniform(440, 745, (count, 1))
        width = np.exp(rng.uniform(np.log(12), np.log(70), (count, 1)))
        depth = rng.uniform(0.1, 0.98, (count, 1)) * there
        e = (x - centre) / width
        q = rng.normal(0, 0.5, (count, 1))
        t = t * (1 - depth * (1 + q * e) / (1 + e * e))
    absorbed = rng.uniform(0, 0.7, (count, 1)) * np.exp(-(x - 450) / rng.uniform(20, 120, (count, 1)))
    return np.clip(t * (1 - absorbed) + rng.normal(0, 0.004, t.shape), 0, 1).round(4)


def peaks(rng: np.random.Generator, count: int) -> np.ndarray:
    """(count, 71) absorbance at ``PEAK_NM``."""
    x = PEAK_NM[None]
    a = rng.uniform(0.0, 0.6, (count, 1)) * (450 / x) ** rng.uniform(1, 5, (count, 1))
    for k in range(3):
        there = rng.random((count, 1)) < (1.0, 0.5, 0.2)[k]
        centre = rng.uniform(470, 780, (count, 1)) if k else rng.normal(545, 35, (count, 1))
        width = np.exp(rng.uniform(np.log(18), np.log(90), (count, 1)))
        e = (x - centre) / width
        shape = np.where(rng.random((count, 1)) < 0.5, np.exp(-0.5 * e * e), 1 / (1 + e * e))
        a = a + rng.uniform(0.1, 1.2, (count, 1)) * there * shape
    scale = np.exp(rng.uniform(np.log(0.2), np.log(2.0), (count, 1)))
    return np.clip(scale * a + rng.normal(0, 0.001, a.shape), 0, 4).round(4)


class Source:
    """Endless clean spectra, dips spread evenly over the bands, peaks over both sides of the thresholds."""

    def __init__(self, rng: np.random.Generator, spec: Spec, bins: list[float], stride: int = 1):
        self.rng, self.spec, self.bins, self.stride = rng, spec, bins, stride
        self.rule = CleanRule.from_mapping({**spec.data["clean"], "extremum": spec.data["extremum"]})
        self.stock: list[list[Spectrum]] = [[] for _ in bins[1:]]

    def take(self) -> Spectrum:
        k = int(self.rng.integers(len(self.stock)))
        while not self.stock[k]:
            self._fill()
        return self.stock[k].pop()

    def _fill(self) -> None:
        dip = self.spec.data["extremum"] == "minimum"
        grid, rows = (DIP_NM, dips(self.rng, 1024)) if dip else (PEAK_NM, peaks(self.rng, 1024))
        grid, rows = grid[:: self.stride], rows[:, :: self.stride]
        quantity = self.spec.data["evidence"]["response"]
        found = clean([Spectrum(f"synthetic-{i}", grid, r, quantity) for i, r in enumerate(rows)], self.rule)
        for s, nm in zip(found.kept, found.position_nm, strict=True):
            k = int(np.searchsorted(self.bins, nm)) - 1
            if 0 <= k < len(self.stock) and len(self.stock[k]) < 400:
                self.stock[k].append(s)


class Pool:
    """Sheets for base training. ``weights`` over: one dip, two dips, three dips, one peak, two peaks."""

    def __init__(self, specs: dict[str, Spec], seed: int, weights: tuple[float, ...] = (0.5, 0.32, 0.1, 0.08, 0.0),
                 coarse: float = 0.0, views: tuple[str, ...] = VIEWS):
        """``coarse`` is the share of sheets with every other row, a complete table of half the sampling: cheaper."""
        self.rng, self.coarse, self.views = np.random.default_rng(seed), coarse, views
        self.specs, self.weights = specs, np.array(weights) / sum(weights)
        self.sources = [(Source(self.rng, specs["metasurface-main"], [450, 605, 645, 685, 730], stride),
                         Source(self.rng, specs["gold-main"], [450, 522.5, 542.5, 562.5, 800], 2 * stride - 1))
                        for stride in (1, 2)]
        self.dips, self.peaks = self.sources[0]

    def sheets(self) -> Iterator[Sheet]:
        makers = (self.one_dip, self.two_dips, self.three_dips, self.one_peak, self.two_peaks)
        while True:
            self.dips, self.peaks = self.sources[int(self.rng.random() < self.coarse)]
            sheet = makers[self.rng.choice(len(makers), p=self.weights)]()
            if sheet is not None:
                yield sheet

    # -- evidence ---------------------------------------------------------------------------------------------------

    def view(self, spec: Spec) -> View:
        return spec.view(self.views[self.rng.integers(len(self.views))])

    def sheet(self, spec: Spec, view: View, spectra: tuple[Spectrum, ...], asked: list[Request | None]) -> Sheet | None:
        asked = [r for r in asked if r is not None]
        if not asked:
            return None
        self.rng.shuffle(asked)
        text = "\n\n".join([prompts.context(spec), prompts.introduction(spec, view, len(spectra)),
                            renderer(view.kind)(spectra, NAMES[: len(spectra)], view)])
        order = np.argsort(AXIS_UNITS[view.unit].from_nm(spectra[0].wavelength_nm))
        if view.order == "descending":
            order = order[::-1]
        return Sheet(text + "\n\n", tuple((prompts.compose(r), letter(r)) for r in asked),
                     spectra[0].wavelength_nm[order], np.array([s.response[order] for s in spectra]))

    def ask(self, spec: Spec, kind: str, view: View, expected: str, facts: dict) -> Request:
        task = spec.task(kind)
        if facts.get("options") and set(facts["options"]) == {"shorter", "longer"} and self.rng.random() < 0.5:
            facts = {**facts, "options": facts["options"][::-1]}
        v = Variant("v", "i", "same", expected, True, facts)
        request = Request(RequestKey(spec.name, kind, "i", "v", view.name, "plain", 0, ""), (),
                          prompts.question(task, v, view), prompts.options(task, v, view), "option_letters", "")
        return replace(request, prompt=prompts.compose(request), key=replace(request.key, variant=expected))

    # -- questions --------------------------------------------------------------------------------------------------

    def one_dip(self) -> Sheet | None:
        main, scope = self.specs["metasurface-main"], self.specs["metasurface-scope"]
        context = (main, scope)[self.rng.integers(2)]
        view, s = self.view(main), self.dips.take()
        bounds = main.task("extreme")["bands_nm"]
        keys, nm = band_keys(bounds), float(s.wavelength_nm[extremum_index(s.response, "minimum")])
        asked = [self.extreme(main, view, s, "minimum", bounds), self.extreme(main, view, s, "maximum", bounds)]
        more = {"options": (*keys, ABSTAIN), "question": "question"}
        span = (float(s.wavelength_nm[0]), float(s.wavelength_nm[-1]))
        asked.append(self.ask(main, "sufficiency", view, band_of(nm, bounds), {**more, "span_nm": span}))
        for lo, hi in scope.task("scope")["intervals_nm"]:
            if lo <= nm <= hi:
                asked.append(self.ask(scope, "scope", view, band_of(nm, bounds), {**more, "span_nm": (lo, hi)}))
        return self.sheet(context, view, (s,), asked)

    def extreme(self, spec: Spec, view: View, s: Spectrum, extremum: str, bounds) -> Request | None:
        w, r = s.wavelength_nm, s.response
        i = extremum_index(r, extremum)
        if not clear_of(float(w[i]), bounds, 5):
            return None
        band = band_of(float(w[i]), bounds)
        rest = r[[band_of(float(x), bounds) != band for x in w]]
        gap = rest.min() - r[i] if extremum == "minimum" else r[i] - rest.max()
        if gap < 0.01:
            return None
        return self.ask(spec, "extreme", view, band, {"options": band_keys(bounds), "question": extremum})

    def two_dips(self) -> Sheet | None:
        return self.compare(self.specs["metasurface-main"], self.dips, 20)

    def two_peaks(self) -> Sheet | None:
        return self.compare(self.specs["gold-main"], self.peaks, 25)

    def compare(self, spec: Spec, source: Source, apart: float) -> Sheet | None:
        view = self.view(spec)
        pair = (source.take(), source.take())
        nm = [float(s.wavelength_nm[extremum_index(s.response, spec.data["extremum"])]) for s in pair]
        if abs(nm[0] - nm[1]) < apart:
            return None
        wordings = ("wavelength", "energy") if AXIS_UNITS[view.unit].descending else ("wavelength",)
        asked = []
        for direction in ("longer", "shorter"):
            expected = "AB"[nm.index(max(nm) if direction == "longer" else min(nm))]
            for wording in wordings:
                name = f"{direction}-{'axis' if wording == 'energy' else 'wavelength'}"
                asked.append(self.ask(spec, "compare", view, expected,
                                      {"options": ("A", "B"), "question": name, "wording": wording}))
        return self.sheet(spec, view, pair, asked)

    def three_dips(self) -> Sheet | None:
        spec = self.specs["metasurface-main"]
        task, view = spec.task("specification"), self.view(spec)
        trio = tuple(self.dips.take() for _ in range(3))
        at = [extremum_index(s.response, "minimum") for s in trio]
        nm = [float(s.wavelength_nm[i]) for s, i in zip(trio, at, strict=True)]
        low = [float(s.response[i]) for s, i in zip(trio, at, strict=True)]
        asked = []
        for lo, hi in task["windows_nm"]:
            for depth in task["depths"]:
                fits = [lo + 5 <= x <= hi - 5 and y <= depth - 0.03 for x, y in zip(nm, low, strict=True)]
                out = [x < lo - 5 or x > hi + 5 or y > depth + 0.03 for x, y in zip(nm, low, strict=True)]
                if sum(fits) == 1 and sum(out) == 2:
                    facts = {"options": NAMES, "question": "fits", "window_nm": (lo, hi), "depth": depth}
                    asked.append(self.ask(spec, "specification", view, NAMES[fits.index(True)], facts))
        self.rng.shuffle(asked)
        return self.sheet(spec, view, trio, asked[:4])

    def one_peak(self) -> Sheet | None:
        main, scope = self.specs["gold-main"], self.specs["gold-scope"]
        view, s = self.view(main), self.peaks.take()
        nm = float(s.wavelength_nm[extremum_index(s.response, "maximum")])
        sides, asked = ("shorter", "longer"), []
        if clear_side(s, 542.5, "maximum", 5, 0.01):
            facts = {"options": sides, "threshold_nm": 542.5}
            asked.append(self.ask(main, "threshold", view, side_of(nm, 542.5), {**facts, "question": "wavelength"}))
            if AXIS_UNITS[view.unit].descending:
                asked.append(self.ask(main, "threshold", view, side_of(nm, 542.5),
                                      {**facts, "question": "axis", "wording": "energy"}))
            span = (float(s.wavelength_nm[0]), float(s.wavelength_nm[-1]))
            asked.append(self.ask(main, "sufficiency", view, side_of(nm, 542.5),
                                  {**facts, "options": (*sides, ABSTAIN), "question": "question", "span_nm": span}))
        task = scope.task("scope")
        for lo, hi in task["intervals_nm"]:
            threshold = task["thresholds_nm"][self.rng.integers(5)]
            if lo <= nm <= hi and clear_side(s, threshold, "maximum", 5, 0.01):
                asked.append(self.ask(scope, "scope", view, side_of(nm, threshold),
                                      {"options": (*sides, ABSTAIN), "question": "question", "span_nm": (lo, hi),
                                       "threshold_nm": threshold}))
        return self.sheet(main, view, (s,), asked)


def letter(request: Request) -> str:
    """The letter that stands before the right option; ``ask`` keeps its key in the variant of the request key."""
    return next(name for name, key in request.letters.items() if key == request.key.variant)
