"""Controller only: starts the vLLM servers that a run needs, once, and stops them however the session ends.

A model with ``backend: vllm`` and no ``base_url`` gets a server of its own on a free loopback port, unless every one of its
replies is stored (after ``isoprobe import``, or when only the report is to change). Workers learn the
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


def answered(run: Run, name: str) -> bool:
    """Whether each of a model's requests has its reply in the store; the first one without ends the search."""
    from .. import prompts
    from ..dispatch import Asker
    from ..lane import key_in_store
    from ..store import Store
    from .expand import keys_of

    if not run.store_path.is_file():
        return False
    with Store(run.store_path, readonly=True) as store:
        asker = Asker({name: run.models[name]}, store, run.build, prompts.compose, offline=True)
        try:
            return all(store.get(key_in_store(run.models[name], request)) for key in keys_of(run, None, None)
                       if key.model == name for request in asker.requests(key))
        finally:
            asker.close()


def start(run: Run, config: pytest.Config) -> Mapping[str, str]:
    """Base URLs by model, "" where none is needed; starts what is not running yet.

    Raises:
        pytest.UsageError: a server did not start; holds the last lines of its log.
    """
    if run.option("replay") or run.option("dry_run") or config.option.collectonly:
        return run.served
    for name in needed(run):
        if name in run.served:
            continue
        from ..backends.vllm import same_server, serve

        twin = next((n for n, url in run.served.items() if url and same_server(run.models[n], run.models[name])), None)
        if twin is not None:
            run.served[name] = run.served[twin]
            continue
        if answered(run, name):
            run.served[name] = ""
            say(config, f"{name}: every reply is stored, so no server is started")
            continue
        try:
            server = serve(run.models[name], run.folder, lambda text: say(config, text))
        except FatalError as error:
            raise pytest.UsageError(str(error)) from None
        run.closers.append(partial(end, server, config))
        run.served[name] = server.base_url
    for name, model in run.models.items():
        address = run.served.get(name, model.base_url)
        if model.backend == "vllm" and model.options.get("adapter_folder") and address:
            from ..backends.vllm import load_adapter

            try:
                load_adapter(address, model)
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
