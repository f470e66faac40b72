"""Controller only: starts the vLLM servers that a run needs, once, and stops them however the session ends.

A model with ``backend: vllm`` and no ``base_url`` gets a server of its own on a free loopback port. Workers learn the
addresses from their controller. Ctrl-C, a crash of this process or the end of the session end the server too.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from ..errors import FatalError
from .options import Run

if TYPE_CHECKING:
    from ..backends.vllm import Server


def needed(run: Run) -> list[str]:
    """Names of the chosen models that no server is declared for."""
    return [name for name, c in run.models.items() if c.backend == "vllm" and not c.base_url]


def start(run: Run, config: pytest.Config) -> Mapping[str, str]:
    """Base URLs by model; starts what is not running yet.

    Raises:
        pytest.UsageError: a server did not start; holds the last lines of its log.
    """
    if run.option("replay") or run.option("dry_run") or config.option.collectonly:
        return run.served
    for name in needed(run):
        if name in run.served:
            continue
        from ..backends.vllm import same_server, serve

        twin = next((n for n in run.served if same_server(run.models[n], run.models[name])), None)
        if twin is not None:
            run.served[name] = run.served[twin]
            continue
        try:
            server = serve(run.models[name], run.folder, lambda text: say(config, text))
        except FatalError as error:
            raise pytest.UsageError(str(error)) from None
        run.closers.append(partial(end, server, config))
        run.served[name] = server.base_url
    for name, model in run.models.items():
        if model.backend == "vllm" and model.options.get("adapter_folder"):
            from ..backends.vllm import load_adapter

            try:
                load_adapter(run.served.get(name, model.base_url), model)
            except FatalError as error:
                raise pytest.UsageError(str(error)) from None
    return run.served


def end(server: Server, config: pytest.Config) -> None:
    """Stop a server; one that has ended by itself is news."""
    news = server.death()
    server.stop()
    if news:
        say(config, news)


def say(config: pytest.Config, text: str) -> None:
    terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None:
        terminal.ensure_newline()
        terminal.write_line(text)
