"""Turns the mark ``probes(suite=..., tasks=[...])`` into one item a request. No data, no rendering, no network here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ..errors import IsoprobeError

if TYPE_CHECKING:
    from ..probe import RequestKey
    from .options import Run


def parametrize(metafunc: pytest.Metafunc, mark: pytest.Mark, run: Run) -> None:
    suite, tasks = mark.kwargs.get("suite"), mark.kwargs.get("tasks")
    try:
        keys = keys_of(run, suite, frozenset(tasks) if tasks else None)
    except IsoprobeError as error:
        raise pytest.UsageError(str(error)) from None
    metafunc.parametrize("probe", keys, ids=list(map(str, keys)), indirect=True)


def keys_of(run: Run, suite: str | None, tasks: frozenset[str] | None) -> list[RequestKey]:
    """Keys of a suite's chosen tasks, in the one order that every process uses."""
    from ..build import Asked, expand

    models = [Asked(m.name, m.sees_images) for m in run.models.values()]
    specs = [s for s in run.specs if s.suite == suite or suite is None]
    return [k for k in expand(specs, models, run.selection) if tasks is None or k.task in tasks]
