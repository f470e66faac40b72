"""View + evidence -> what a model is shown: a text table or the bytes of a PNG.

Rendering is pure: the same spectra, names and view give the same bytes in every process. It knows nothing of questions,
options or labels, so nothing of them can leak into the evidence.

    table   csv, markdown and JSON tables (paper 1, appendix B)
    plot    line plots (paper 1, section 3.2)
    style   the settings a view may declare, with their defaults
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

RENDERERS = {
    "csv": "table:render_table",
    "markdown": "table:render_table",
    "json": "table:render_table",
    "plot": "plot:render_plot",
}
"""View.kind -> the function that renders it; ``(spectra, names, view) -> str | bytes``."""


def renderer(kind: str) -> Any:
    """The renderer of a view kind, imported on first use (matplotlib only for plots). Raises KeyError."""
    module, _, name = RENDERERS[kind].partition(":")
    return getattr(import_module(f"{__name__}.{module}"), name)
