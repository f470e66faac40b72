"""Controller only: collects outcome rows, keeps the run folder, shows progress, and at the end reports and judges.

The controller knows the keys of all items, so a worker that dies makes requests *lost*, never a smaller n.
"""

from __future__ import annotations

import dataclasses
import platform
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from ..errors import IsoprobeError
from ..probe import RequestKey
from . import serving
from .events import said
from .options import Run, distributed, run_of
from .progress import Progress
from .status import carried, lighten, summary

NAME = "isoprobe-recorder"
SEED = 20261102
"""Seed of the resamples of every report."""
PACKAGES = ("isoprobe", "numpy", "matplotlib", "pillow", "pytest", "pytest-xdist", "httpx", "xllamacpp", "vllm", "torch")


def register(config: pytest.Config) -> None:
    """Registers the recorder once, on the controller."""
    if hasattr(config, "workerinput") or config.pluginmanager.has_plugin(NAME):
        return
    config.pluginmanager.register(Recorder(config), NAME)


class Recorder:
    def __init__(self, config: pytest.Config):
        self.config = config
        self.keys: list[str] = []
        self.counts: dict[str, Counter] = {}
        self.has_row: dict[str, bool] = {}  # by key
        self.lines: list[tuple[str, dict[str, bool]]] = []
        self.log: Any = None
        self.progress: Progress | None = None
        self.failed_gates = 0
        self.warnings: dict[str, None] = {}  # what the events told, in order
        self.waiting: dict[str, Any] = {}  # the event that told last what is waited for

    @property
    def run(self) -> Run:
        return run_of(self.config)

    # -- which items there are ---------------------------------------------------------------------------------------

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if distributed(self.config):
            return
        self._start(item.nodeid for item in session.items if "probe" in getattr(item, "fixturenames", ()))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        if not self.keys:
            self._start(ids)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["isoprobe_run_id"] = self.run.id
        probes = any(self.run.option(name) for name in ("model", "adapter"))  # nothing is asked of a server otherwise
        node.workerinput["isoprobe_served"] = dict(serving.start(self.run, self.config)) if probes else {}

    def _start(self, node_ids: Iterable[str]) -> None:
        """Write the run's folder before the first request is sent."""
        self.keys = [k for k in map(key_in, node_ids) if k and self._ours(k)]
        if len(set(self.keys)) < len(self.keys):
            twice = next(k for k, n in Counter(self.keys).items() if n > 1)
            raise pytest.UsageError(f"two items ask {twice}; name each file once on the command line")
        if not self.keys or self.config.option.collectonly or self.run.option("dry_run"):
            return
        from ..report.run import OutcomeLog, begin_run

        self.has_row = dict.fromkeys(self.keys, False)
        try:
            begin_run(self.run.folder, self.describe(), self.keys)
            self.log = OutcomeLog(self.run.folder)
        except (IsoprobeError, OSError) as error:
            raise pytest.UsageError(str(error)) from None
        self._hear()
        if not distributed(self.config):
            serving.start(self.run, self.config)
        self.progress = Progress(self.config, len(self.keys), self._hear)

    def _hear(self) -> str:
        """Take in the events so far; returns what is waited for, as told last and how long ago."""
        for event in self.run.events.heard():
            if event["kind"] in ("retry", "waiting"):
                self.waiting = event
            elif event["kind"] != "stopped":  # why a run was stopped stands below the last item
                self.warnings[said(event)] = None
        return f"{said(self.waiting)} ({time.time() - self.waiting['at']:.0f} s ago)" if self.waiting else ""

    def _ours(self, text: str) -> bool:
        """Whether what stands in a node id is a key of this run: a controller sees ids alone, of any test."""
        try:
            key = RequestKey.parse(text)
        except ValueError:
            return False
        return key.model in self.run.models and any(key.spec == spec.name for spec in self.run.specs)

    def describe(self) -> dict[str, Any]:
        """``run.json``: what is run, on which data, by which versions; no secrets, no time but the start."""
        from ..build import family

        run = self.run
        used = {k.split("/", 1)[0] for k in self.keys}
        specs = {}
        for spec in run.specs:
            if spec.name in used:
                data = family(spec).data
                specs[spec.name] = {
                    "version": spec.version, "sha256": spec.sha256, "title": spec.title, "seed": spec.seed,
                    "tables": list(spec.tables), "file": spec.file,
                    "dataset": {"name": data.name, "kind": data.kind, "licence": data.licence, "source": data.source}}
        packages = {}
        for name in PACKAGES:
            try:
                packages[name] = metadata.version(name)
            except metadata.PackageNotFoundError:
                continue
        select = run.selection
        return {
            "id": run.id, "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "specs": specs,
            "models": {name: settings(config, run.root) for name, config in run.models.items()}, "seed": SEED,
            "selection": {"views": select.views, "limit": select.limit, "repeat": select.repeat, "shard": select.shard},
            "gate": run.option("gate"), "packages": packages,
            "python": platform.python_version(), "platform": f"{platform.system()} {platform.machine()}",
        }

    # -- what comes back -----------------------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Iterator[None]:
        self._record(report)
        yield
        if key_in(report.nodeid) in self.has_row:
            lighten(report)
            self._forget(report)

    def _record(self, report: pytest.TestReport) -> None:
        if report.when != "call" or self.log is None:
            return
        found = carried(report)
        if found is None:
            return
        row, brief = found
        key = key_in(report.nodeid)
        if self.has_row.get(key):  # run again by another plugin: the reply is the same
            return
        try:
            self.log.append_json(row)
        except IsoprobeError as error:
            pytest.exit(str(error), returncode=pytest.ExitCode.INTERNAL_ERROR)
        self.has_row[key] = True
        self.counts.setdefault(model_in(key), Counter())[brief[0]] += 1
        if self.progress:
            self.progress.saw(*brief)

    def _forget(self, report: pytest.TestReport) -> None:
        """The terminal keeps the reports of set-ups and tear-downs that passed, two an item, for --durations alone."""
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        kept = terminal.stats.get("") if terminal is not None and self.config.option.durations is None else None
        if kept and kept[-1] is report:
            kept.pop()

    # -- the end -------------------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.log is None:
            return
        if self.progress:
            self.progress.close()
        self._hear()
        for key, has in self.has_row.items():
            if not has:
                self.counts.setdefault(model_in(key), Counter())["lost"] += 1
        try:
            self.log.close()
            self._report()
        except IsoprobeError as error:
            self.lines.append((f"no report: {error}", {"red": True}))
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
            return
        if self.failed_gates and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _report(self) -> None:
        from ..gates import failed
        from ..report import github
        from ..report.publish import publish
        from ..report.recorded import load

        recorded = load(self.run.folder)
        document = publish(self.run.folder, recorded.outcomes, recorded.run, self.run.profile(), recorded.notes,
                           pictures=not self.run.option("no_figures"))
        github.announce(document, say=lambda line: self.lines.append((line, {})))  # it has to begin its line
        kinds = {s["dataset"]["kind"] for s in recorded.run["specs"].values()}
        self.lines.append((f"evidence: {' and '.join(sorted(kinds))}", {}))
        bad = failed(document.verdicts)
        self.failed_gates = len(bad)
        for verdict in bad:
            self.lines.append((f"{verdict.result.upper()} {verdict.gate.name} ({verdict.model}): {verdict.message}",
                               {"red": True}))
        if document.verdicts:
            held = len(document.verdicts) - len(bad)
            self.lines.append((f"gates: {held} of {len(document.verdicts)} verdicts hold", {"green": not bad}))
        self.lines.append((f"report: {self.run.folder / 'report.html'} and report.md beside it", {"bold": True}))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self.counts:
            return
        terminalreporter.section("isoprobe", sep="=")
        for line in summary(self.counts):
            terminalreporter.line(line)
        for text in self.warnings:
            terminalreporter.line(f"warning: {text}", yellow=True)
        for line, markup in self.lines:
            terminalreporter.line(line, **markup)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if not self.run.option("dry_run") or not self.keys:
            return None
        from .dryrun import show

        show(self.config, self.run, self.keys)
        return True


def settings(config: Any, root: Path) -> dict[str, Any]:
    """A model's configuration as recorded: what differs from empty, files below ``root`` by their path from there.

    It names the variable of a key, never the key; variables of a server's environment and secret arguments have no value.
    """
    from ..report.text import arguments

    start = f"{root.resolve()}/"

    def shown(name: str, value: Any) -> Any:
        if isinstance(value, str):
            return value.removeprefix(start)
        if name == "env":
            return sorted(value)
        return arguments(value) if isinstance(value, list | tuple) else value

    found = {f.name: getattr(config, f.name) for f in dataclasses.fields(config) if getattr(config, f.name)}
    if "options" in found:
        found["options"] = {name: shown(name, value) for name, value in found["options"].items()}
    return found


def key_in(node_id: str) -> str:
    """The request key inside a node id (``file::test[key]``, with or without a group suffix), or ""."""
    start, end = node_id.find("["), node_id.rfind("]")
    key = node_id[start + 1 : end] if 0 <= start < end else ""
    return key if key.count("/") >= 7 else ""


def model_in(key: str) -> str:
    """The model of a request key's text."""
    return key.split("/", 7)[7]
