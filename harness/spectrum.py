"""One spectrum and the units of its axis: the evidence of the optics suites."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .errors import DataError

HC_EV_NM = 1239.841984
"""h*c in eV nm: E [eV] = 1239.841984 / lambda [nm] (optical-spectra paper, section 3.2)."""
C_NM_THZ = 299792.458
"""c in nm THz: f [THz] = 299792.458 / lambda [nm]."""


@dataclass(frozen=True, slots=True)
class AxisUnit:
    """A unit in which the horizontal axis can be shown. ``from_nm`` maps wavelengths in nm, any shape."""

    name: str
    quantity: str
    from_nm: Callable[[np.ndarray], np.ndarray]
    descending: bool  # larger values mean shorter wavelengths


AXIS_UNITS = {
    u.name: u
    for u in (
        AxisUnit("nm", "wavelength", lambda nm: nm * 1.0, False),
        AxisUnit("um", "wavelength", lambda nm: nm / 1000.0, False),
        AxisUnit("eV", "photon_energy", lambda nm: HC_EV_NM / nm, True),
        AxisUnit("cm^-1", "wavenumber", lambda nm: 1e7 / nm, True),
        AxisUnit("THz", "frequency", lambda nm: C_NM_THZ / nm, True),
    )
}


@dataclass(frozen=True, slots=True)
class Spectrum:
    """A sampled response over wavelength.

    Attributes:
        id: name of the structure or synthesis it was measured (or computed) on.
        wavelength_nm: (n,) float64, strictly ascending, nm, read-only.
        response: (n,) float64, finite, read-only; a ratio (transmission 0-1) or absorbance (decadic).
        quantity: ``transmission`` or ``absorbance`` (or a user's own word).
        polarization: ``x``, ``y`` or ``""``.

    Raises:
        DataError: shapes differ, fewer than 3 samples, NaN or infinity, wavelengths not ascending.
    """

    id: str
    wavelength_nm: np.ndarray
    response: np.ndarray
    quantity: str
    polarization: str = ""

    def __post_init__(self) -> None:
        for name in ("wavelength_nm", "response"):
            array = np.array(getattr(self, name), dtype=np.float64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        w, r = self.wavelength_nm, self.response
        if w.ndim != 1 or w.shape != r.shape:
            raise DataError(f"spectrum {self.id!r}: wavelengths {w.shape} and response {r.shape} must be equal (n,)")
        if len(w) < 3:
            raise DataError(f"spectrum {self.id!r}: {len(w)} samples; at least 3 are needed")
        if not np.isfinite(w).all() or not np.isfinite(r).all():
            bad = int(np.flatnonzero(~(np.isfinite(w) & np.isfinite(r)))[0])
            raise DataError(f"spectrum {self.id!r}: sample {bad} (wavelength {w[bad]:g} nm) is not finite; "
                            "remove the sample or the spectrum")
        if (np.diff(w) <= 0).any():
            bad = int(np.flatnonzero(np.diff(w) <= 0)[0]) + 1
            raise DataError(f"spectrum {self.id!r}: wavelengths must ascend, but {w[bad]:g} nm follows {w[bad - 1]:g} nm")

    def __len__(self) -> int:
        return len(self.wavelength_nm)

    def keep(self, mask: np.ndarray) -> Spectrum:
        """The samples where ``mask`` (n,) is true; a cut of the evidence."""
        return replace(self, wavelength_nm=self.wavelength_nm[mask], response=self.response[mask])


@dataclass(frozen=True, slots=True)
class SpectraSet:
    """Where a question's evidence comes from; what a report says about it.

    Attributes:
        name: the set that was really read; the stand-in's own name when one is used.
        kind: ``measured`` or ``simulated``.
        licence: of the data.
        source: citation, address or file.
        quantity: of all spectra.
        spectra: sharing one wavelength grid.
        description: one or two sentences on how the values came about.
    """

    name: str
    kind: str
    licence: str
    source: str
    quantity: str
    spectra: tuple[Spectrum, ...]
    description: str = ""
