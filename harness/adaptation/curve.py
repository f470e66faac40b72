"""The training curve of one adapter as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .epochs import Point


def draw(folder: Path, curve: Sequence[Point], kept: Point, title: str) -> Path:
    """``curve.png``: development accuracy and loss over epochs, the kept epoch marked."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.8, 3.0), dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    left = figure.add_subplot()
    right = left.twinx()
    epochs = [p.epoch for p in curve]
    left.plot(epochs, [100 * p.accuracy for p in curve], "o-", color="#0072b2", label="accuracy")
    right.plot(epochs, [p.loss for p in curve], "s--", color="#d55e00", label="loss")
    left.axvline(kept.epoch, color="0.7", linewidth=1, zorder=0)
    left.set(xlabel="epoch", ylabel="development accuracy (%)", ylim=(0, 102),
             title=f"{title}; kept: epoch {kept.epoch}")
    right.set(ylabel="development loss")
    right.set_ylim(bottom=0)
    left.set_xticks(epochs)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    path = folder / "curve.png"
    figure.savefig(path)
    return path
