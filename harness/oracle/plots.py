"""Digitises a plot: PNG bytes -> the curves it shows. Pixels only; no metadata is read."""

from __future__ import annotations

from .axes import read_axes
from .chart import Chart
from .curves import read_curves
from .raster import decode


def read_plot(png: bytes) -> Chart:
    """The chart in a PNG. Raises DataError when axes, labels, legend or curves cannot be read."""
    raster = decode(png)
    axes = read_axes(raster)
    return Chart(axes.unit, tuple(read_curves(raster, axes)))
