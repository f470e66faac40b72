"""``--dry-run``: how many requests, tokens and images a run would send, and what it would cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from tabulate import tabulate

from ..probe import RequestKey
from .options import Run

CHARACTERS_PER_TOKEN = 2.6
"""Of tables full of digits, over several tokenizers; prose has about 4."""
IMAGE_TOKENS = 400
"""Of an 800 x 500 image; models differ between 85 and 1,100."""


def show(config: pytest.Config, run: Run, keys: Sequence[str]) -> None:
    """Builds every request once and prints a line a model and spec. Asks nothing."""
    rows: dict[tuple[str, str], Counter] = {}
    for text in keys:
        key = RequestKey.parse(text)
        request = run.build(key)
        count = rows.setdefault((key.model, key.spec), Counter())
        count.update(requests=1, images=len(request.images), characters=len(request.system) + len(request.text))
    table = []
    for (model, spec), count in rows.items():
        tokens = round(count["characters"] / CHARACTERS_PER_TOKEN) + IMAGE_TOKENS * count["images"]
        cost = tokens * run.models[model].price_in / 1e6
        table.append([model, spec, count["requests"], count["images"], tokens, f"{cost:.2f}" if cost else "-"])
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    terminal.ensure_newline()
    terminal.write_line("dry run: nothing was asked; tokens are estimates of the input")
    terminal.write_line(tabulate(table, headers=("model", "spec", "requests", "images", "tokens in", "USD in"), intfmt=","))
