"""What a variant does to the evidence: put it in another order, or take samples away.

Question direction and wording change no evidence and live in the prompts.
"""

from __future__ import annotations

import numpy as np

from ..probe import Instance, Variant
from ..spectrum import Spectrum


def evidence(instance: Instance, variant: Variant) -> tuple[Spectrum, ...]:
    """The spectra that the variant shows, in its order and with its samples removed.

    ``variant.facts`` may hold ``order`` (indices into the instance's evidence), ``keep_nm`` and ``remove_nm``
    (closed intervals in nm; an outside cut keeps one, an inside cut removes one).
    """
    order = variant.facts.get("order") or range(len(instance.evidence))
    return tuple(_cut(instance.evidence[k], variant) for k in order)


def _cut(spectrum: Spectrum, variant: Variant) -> Spectrum:
    mask = np.ones(len(spectrum), dtype=bool)
    if keep := variant.facts.get("keep_nm"):
        mask &= inside(spectrum, keep)
    if remove := variant.facts.get("remove_nm"):
        mask &= ~inside(spectrum, remove)
    return spectrum if mask.all() else spectrum.keep(mask)


def inside(spectrum: Spectrum, interval: tuple[float, float]) -> np.ndarray:
    """(n,) bool: samples within a closed interval in nm."""
    w = spectrum.wavelength_nm
    return (w >= interval[0]) & (w <= interval[1])
