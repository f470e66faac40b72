"""The pytest plugin: specs in, one item a request, outcomes out, tables instead of pass and fail.

In a session that collects no probe it sets OPENBLAS_NUM_THREADS and xdist's ``dist``, where nobody else has, and no more:
hooks that cost something are registered when the first test with the mark ``probes`` is collected. A wrong answer is data;
an item fails only when the harness is wrong.

    options    command-line options, and the run that they describe
    expand     marks -> parametrized items
    fixtures   the ``probe`` fixture: ask, read, classify, record
    lookahead  which requests this process is going to need next
    economy    what keeps tens of thousands of items cheap to run
    status     letters and words of items, the summary in words and numbers
    events     events.jsonl: what a person should know while the run goes on
    recorder   controller only: collects outcome rows, writes the run folder, reports, judges the gates
    serving    controller only: starts and stops a model server
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from .options import add_options, check_options, distributed, run_of

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_AUTO_WORKERS = 8
"""More processes gain nothing: one keeps dozens of requests in flight."""


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: Any) -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MAX_AUTO_WORKERS)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Spread items by work stealing unless told otherwise: the default scheduler hands out shrinking chunks.

    And one thread of linear algebra a process: the matrices here are small, and threads of two processes that wait for
    one another on the same cores were eight times slower than one thread each.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    option = config.option
    if getattr(option, "dry_run", False):
        option.numprocesses, option.dist, option.tx, option.distload = 0, "no", [], False  # counts; workers would ask
    elif getattr(option, "numprocesses", None) and getattr(option, "dist", None) == "no":
        option.dist = "worksteal"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "probes(suite, tasks): expands declared probe families into one item a request")
    if hasattr(config, "workerinput"):
        return
    check_options(config)
    if distributed(config):
        # the controller of a distributed run collects nothing itself, so it cannot wait for the first probe
        from . import recorder

        recorder.register(config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker("probes")
    if mark is None:
        return
    from . import economy, expand, lookahead, recorder

    recorder.register(metafunc.config)
    lookahead.register(metafunc.config)  # before the collection ends: it has to hear which items there are
    economy.register(metafunc.config)
    expand.parametrize(metafunc, mark, run_of(metafunc.config))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Drop the placeholder of a test whose tasks none of the chosen specs has; skipping it would only be noise."""
    items[:] = [i for i in items if not ("probe" in getattr(i, "fixturenames", ()) and is_placeholder(i))]


def is_placeholder(item: pytest.Item) -> bool:
    spec = getattr(item, "callspec", None)
    return spec is not None and not hasattr(spec.params.get("probe"), "variant")


@pytest.fixture
def probe() -> Any:
    """One request of one model; ``probe.ask()`` asks, reads, classifies and records it."""
    pytest.fail("the fixture 'probe' is for tests with the mark probes(suite=...)", pytrace=False)


def pytest_fixture_setup(fixturedef: Any, request: Any) -> Any:
    """Makes the fixture ``probe``. Here and not in its function, which would have to ask for ``request``: making that
    fixture too cost a tenth of what pytest needs for a whole item."""
    if fixturedef.argname != "probe" or not hasattr(getattr(request, "param", None), "variant"):
        return None
    from .fixtures import Probe

    made = Probe(request.param, request.node, run_of(request.config))
    fixturedef.cached_result = (made, fixturedef.cache_key(request), None)
    return made


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: Any) -> Any:
    if not getattr(report, "user_properties", None) or report.when != "call":
        return None
    from . import status

    return status.of_report(report)


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session: pytest.Session) -> Any:
    """Every process has written its evidence before the controller reports."""
    run = session.config.stash.get(options_key(), None)
    if run is not None:
        run.write_evidence()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_unconfigure(config: pytest.Config) -> Iterator[None]:
    yield
    run = config.stash.get(options_key(), None)
    if run is not None:
        run.close()


def options_key() -> Any:
    from .options import RUN

    return RUN
