"""Draws the figures of a document."""

from __future__ import annotations

import importlib
from collections.abc import Iterable

from ..document import Document
from . import FIGURES


def write(document: Document, names: Iterable[str] = FIGURES) -> dict[str, bytes]:
    """``figures/NAME.png`` and ``.svg`` of every figure whose table has data."""
    from .style import context, save  # matplotlib takes half a second to import

    tables = {table.name: table for table in document.tables}
    files: dict[str, bytes] = {}
    with context():
        for name in names:
            place, source = FIGURES[name]
            if source not in tables:
                continue
            module, _, function = place.partition(":")
            figure = getattr(importlib.import_module(f".{module}", __package__), function)(tables[source], document)
            if figure is not None:
                files[f"figures/{name}.png"], files[f"figures/{name}.svg"] = save(figure)
    return files
