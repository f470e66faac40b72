"""Confidence and calibration (optical-spectra paper, table 9, appendix E)."""

from __future__ import annotations

from ..bootstrap import Resamples
from ..outcome import Table
from ..rows import Rows
from .grid import BY_MODEL, Cell, Lines, grid, lines

_NOTE = "Probabilities that a model states itself and those read from its outputs are not comparable."


def _by_kind(rows: Rows) -> Lines:
    """Lines by model and kind of probability; a reply without any goes with the kind that its readout gives."""
    made: Lines = []
    for names, line in lines(rows, BY_MODEL):
        for kind in filter(None, line.distinct("probability_kind")):
            readouts = line.where(probability_kind=kind).distinct("readout")
            made.append(((*names, kind), line.where(probability_kind=["", kind], readout=readouts)))
    return made


def high_confidence_errors(rows: Rows, resamples: Resamples) -> Table | None:
    cells = {
        "all": Cell("high_confidence_errors", {"core": True}),
        "tables": Cell("high_confidence_errors", {"core": True, "modality": "table"}),
        "plots": Cell("high_confidence_errors", {"core": True, "modality": "plot"}),
    }
    return grid(
        _by_kind(rows), resamples, (*BY_MODEL, "probabilities"), cells,
        name="high_confidence_errors", title="Wrong with a probability of at least 0.9, % of all core requests",
        note=_NOTE, source="optical-spectra paper, table 9",
    )


def calibration(rows: Rows, resamples: Resamples) -> Table | None:
    cells = {
        "accuracy of readable replies, %": Cell("accuracy_usable", {"core": True}),
        "Brier score": Cell("brier", {"core": True}),
        "calibration error, points": Cell("calibration_error", {"core": True}),
        "label mass, %": Cell("label_mass", {"core": True}),
    }
    return grid(
        _by_kind(rows), resamples, (*BY_MODEL, "probabilities"), cells,
        name="calibration", title="Calibration of the probabilities of core requests",
        note=f"Brier: 0 to 2, ideal 0. Calibration error: 10 bins, ideal 0. Label mass: of the full next-token "
             f"probability on the options. {_NOTE}",
        source="optical-spectra paper, section 4.2 and appendix E",
    )
