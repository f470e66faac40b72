"""What a view may declare under ``style``, with defaults: one frozen dataclass for tables, one for plots."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, TypeVar

from ..errors import DataError, near
from ..probe import View
from ..spectrum import AXIS_UNITS, AxisUnit

AXIS_FORMATS = {"nm": "d", "um": ".3f", "eV": ".3f", "cm^-1": ".0f", "THz": ".1f"}
"""Default number format of the axis column; nm, um and eV as in appendix B."""


@dataclass(frozen=True, slots=True)
class TableStyle:
    """Settings of a table.

    Attributes:
        axis_format: Python format of the axis column; ``d`` rounds to an integer. Default by unit, ``AXIS_FORMATS``.
        response_format: Python format of the response columns.
        header: ``snake`` (``photon_energy_eV``, the paper's) or ``title`` (``Photon energy (eV)``).
    """

    axis_format: str = ""
    response_format: str = ".3f"
    header: str = "snake"


@dataclass(frozen=True, slots=True)
class PlotStyle:
    """Settings of a plot; lengths in points (1/72 inch) unless said otherwise.

    Attributes:
        width, height: size of the image, pixels.
        dpi: pixels per inch; scales fonts, lines and markers, not the image.
        font_size, line_width: points.
        colors: line colours in the order of the spectra, ``#rrggbb``; must tell the spectra apart. Shown to the
            nearest of 16 shades a channel.
        grid, grid_color: horizontal and vertical lines at the ticks.
        markers: ``none``, ``circle`` or ``square`` at every sample; marker_size is their diameter.
        legend: label of a spectrum; ``{name}`` is replaced. Drawn above the axes when there are several spectra.
        x_limits, y_limits: ``data`` (the shown data plus 5 % on each side) or [low, high]; x in nm in every view.
        gap: a line is broken where neighbours are further apart than this many median sample distances in nm.
    """

    width: int = 800
    height: int = 500
    dpi: int = 100
    font_size: float = 11.0
    line_width: float = 1.8
    colors: tuple[str, ...] = ("#0077bb", "#dd5500", "#009977", "#cc77aa", "#000000")
    grid: bool = True
    grid_color: str = "#dddddd"
    markers: str = "none"
    marker_size: float = 5.0
    legend: str = "Spectrum {name}"
    x_limits: str | tuple[float, float] = "data"
    y_limits: str | tuple[float, float] = "data"
    gap: float = 1.5


Style = TypeVar("Style", TableStyle, PlotStyle)
CHOICES = {"header": ("snake", "title"), "markers": ("none", "circle", "square")}


def style_of(kind: type[Style], view: View) -> Style:
    """``view.style`` over the defaults of ``kind``. Raises DataError on an unknown setting or choice."""
    valid = [f.name for f in fields(kind)]
    values: dict[str, Any] = {}
    for key, value in view.style.items():
        if key not in valid:
            raise DataError(f"view {view.name}: style has no setting {key!r}{near(key, valid)}")
        if key in CHOICES and value not in CHOICES[key]:
            raise DataError(f"view {view.name}: style.{key}: {value!r} is unknown{near(value, CHOICES[key])}")
        values[key] = tuple(value) if isinstance(value, list) else value
    return kind(**values)


def axis_of(view: View) -> AxisUnit:
    """The unit of the view's axis. Raises DataError when it is not one of ``AXIS_UNITS``."""
    if view.unit not in AXIS_UNITS:
        raise DataError(f"view {view.name}: {view.unit!r} is not a unit of the axis{near(view.unit, AXIS_UNITS)}")
    return AXIS_UNITS[view.unit]
