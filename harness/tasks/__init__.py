"""Tasks of the optics suites: which variants an instance has, how instances are drawn, and labels from the arrays.

A task answers three questions, the first without touching data so that collection is cheap:

    plan(task)              -> (instance id, variants without answers), the same on every machine
    draw(task, pool)        -> instances, structures disjoint within the family
    label(task, instance)   -> the planned variants with expected answers and what the evidence must hide

Nothing here knows how evidence is shown or how a question is worded.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

TASKS = {
    "specification": "specification:Specification",
    "scope": "scope:Scope",
    "sufficiency": "sufficiency:Sufficiency",
    "threshold": "threshold:Threshold",
    "extreme": "extreme:Extreme",
    "compare": "compare:Compare",
}
"""Kind -> class. A family's tasks draw their spectra in this order: the most demanding choose first."""


def task(kind: str) -> Any:
    """The task of that kind."""
    module, name = TASKS[kind].split(":")
    return getattr(import_module(f"{__name__}.{module}"), name)()


def option_count(task: Any) -> int:
    """How many options a task of a spec offers, from its declaration alone."""
    if task.kind in ("compare", "specification"):
        return {"compare": 2, "specification": 3}[task.kind]
    places = len(task["bands_nm"]) - 1 if task.get("bands_nm") else 2
    return places + (task.kind in ("sufficiency", "scope"))
