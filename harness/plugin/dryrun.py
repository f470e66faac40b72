"""``--dry-run``: how many requests, tokens and images a run would send, and what it would cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from tabulate import tabulate

from ..probe import RequestKey
from .options import Run
from .serving import say


def show(config: pytest.Config, run: Run, keys: Sequence[str]) -> None:
    """Builds every request once and prints a line a model and spec. Asks nothing."""
    from ..prompts import input_tokens

    rows: dict[tuple[str, str], Counter] = {}
    for text in keys:
        key = RequestKey.parse(text)
        request = run.build(key)
        count = rows.setdefault((key.model, key.spec), Counter())
        count.update(requests=1, images=len(request.images), tokens=input_tokens(request))
    table = []
    for (model, spec), count in rows.items():
        tokens = round(count["tokens"])
        cost = tokens * run.models[model].price_in / 1e6
        table.append([model, spec, count["requests"], count["images"], tokens, f"{cost:.2f}" if cost else "-"])
    say(config, "dry run: nothing was asked; tokens are estimates of the input")
    say(config, tabulate(table, headers=("model", "spec", "requests", "images", "tokens in", "USD in"), intfmt=","))
