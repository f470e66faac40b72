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
    "extreme": "extreme:Extreme",
    "compare": "compare:Compare",
    "specification": "specification:Specification",
    "threshold": "threshold:Threshold",
    "sufficiency": "sufficiency:Sufficiency",
    "scope": "scope:Scope",
}


def task(kind: str) -> Any:
    """The task of that kind."""
    module, name = TASKS[kind].split(":")
    return getattr(import_module(f"{__name__}.{module}"), name)()
