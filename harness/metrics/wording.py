"""The control of the question: the same evidence asked about in other words (optical-spectra paper, section 3.2)."""

from __future__ import annotations

import numpy as np

from ..bootstrap import share
from ..rows import Rows
from .metric import attempted, metric

EVIDENCE = ("model", "spec", "task", "instance", "view", "template", "repeat")


def both_wordings(rows: Rows) -> Rows:
    """Rows of the instances that one view asks about in both wordings; energy-worded probes exist on eV views only."""
    rows = attempted(rows).where(wording=["wavelength", "energy"])
    group, energy = rows.groups(*EVIDENCE), rows.among("wording", "energy")
    size = len(rows) and group.max() + 1
    both = (np.bincount(group[energy], minlength=size) > 0) & (np.bincount(group[~energy], minlength=size) > 0)
    return rows.take(both[group])


@metric("points", ideal=0, rows=both_wordings)
def wording_effect(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """100 x (accuracy asked in photon energy - accuracy asked in wavelength), in points, on the same eV evidence.

    Ideal 0. Table 5.
    """
    energy, wavelength = rows.where(wording="energy"), rows.where(wording="wavelength")
    return share(energy, weights, energy.correct) - share(wavelength, weights, wavelength.correct)
