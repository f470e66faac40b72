"""Where a run comes from, as lists of properties; what could be a secret is not shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .markdown import _flat
from .text import plain


def sections(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """``{"title": ..., "rows": [(property, value)]}`` for each spec and model, and for the run."""
    made = [
        {"title": f"{what}: {plain(str(key))}", "rows": _rows(value)}
        for name, what in (("specs", "Spec and data"), ("models", "Model"))
        for key, value in run.get(name, {}).items()
    ]
    rest = {k: v for k, v in run.items() if k not in ("id", "started", "specs", "models", "notes")}
    return [*made, {"title": "Run", "rows": _rows(rest)}]


def _rows(value: Any) -> list[tuple[str, str]]:
    return [(plain(k), plain(v, 1000)) for k, v in _flat(value)]
