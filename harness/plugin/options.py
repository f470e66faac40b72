"""Command-line options, and the run that they describe: specs, models, selection, store, folder."""

from __future__ import annotations

import argparse
import re
import secrets
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..errors import IsoprobeError

if TYPE_CHECKING:
    from ..backends.config import ModelConfig
    from ..build import Builder
    from ..report.decisions import Profile
    from ..spec import Spec
    from .events import Events

RUN = pytest.StashKey["Run"]()
DEFAULT_MODEL = "oracle"
STORE = Path(".isoprobe") / "replies.sqlite"
"""Where replies are kept between runs, relative to pytest's root folder."""


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("isoprobe", "isoprobe: equivalent views of scientific evidence")
    add = group.addoption
    add("--model", action="append", default=[], metavar="NAME",
        help="a name of specs/models.yaml, or chat:NAME@URL, systemone:NAME@URL, openrouter:VENDOR/MODEL; repeatable")
    add("--adapter", action="append", default=[], metavar="ARM/SEED",
        help="ask the models with this adapter of theirs (isoprobe train); repeatable; 'none' keeps them unadapted too")
    add("--spec", action="append", default=[], metavar="SPEC", help="name or path of a probe family; repeatable")
    add("--views", metavar="A,B", help="ask these views only; also the way to ask an optional one")
    add("--limit", type=_count, metavar="N", help="first N instances of every task, each with all its variants and views")
    add("--repeat", type=_count, default=1, metavar="N", help="ask every request N times (reproducibility, noise floor)")
    add("--run-id", metavar="ID", help="name of the folder under reports/; an existing one is completed")
    add("--replay", metavar="RUN", help="read the stored replies of a run again; no model is asked")
    add("--gate", metavar="PROFILE", help="judge the gates of this profile of specs/gates.yaml: exit status 1 on a failure")
    add("--no-figures", action="store_true", help="a report without pictures: they take longer than all the rest of it")
    add("--dry-run", action="store_true", help="count requests, tokens and images; ask nothing")
    add("--store", metavar="FILE", help=f"file of stored replies (default {STORE})")
    add("--reports", metavar="DIR", help="folder of run folders (default reports)")
    add("--max-requests", type=_count, metavar="N", help="stop sending after N requests")
    add("--max-cost", type=float, metavar="USD", help="stop sending when this much is spent")
    add("--in-flight", type=_count, metavar="N", help="requests under way at once, all processes together")
    add("--shard", type=_shard, metavar="I/N", help="every N-th instance from the I-th on; merge with isoprobe report")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a count; give 1 or more")
    return int(text)


def _shard(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise argparse.ArgumentTypeError(f"{text!r} is not a shard; the form is 2/8")
    return int(match[1]), int(match[2])


@dataclass
class Run:
    """Everything one session needs, made lazily; the same on the controller and on every worker."""

    config: pytest.Config
    id: str
    asker: Any = None
    keeper: Any = None
    served: dict[str, str] = field(default_factory=dict)  # base URLs of the servers that this run started
    closers: list[Any] = field(default_factory=list)

    def option(self, name: str) -> Any:
        return self.config.getoption(name)

    @cached_property
    def root(self) -> Path:
        return self.config.rootpath

    @cached_property
    def folder(self) -> Path:
        return self.root / (self.option("reports") or "reports") / self.id

    @cached_property
    def events(self) -> Events:
        from .events import Events

        return Events(self.folder)

    @cached_property
    def store_path(self) -> Path:
        return self.root / (self.option("store") or STORE)

    @cached_property
    def replayed(self) -> Mapping[str, Any] | None:
        """``run.json`` of the run that is read again, or None."""
        name = self.option("replay")
        if not name:
            return None
        from ..report.run import find_run, read_run

        return read_run(find_run(name, self.folder.parent))

    @cached_property
    def specs(self) -> tuple[Spec, ...]:
        from ..spec import load_all

        names = self.option("spec") or (list(self.replayed["specs"]) if self.replayed else [])
        return load_all(self.root, names)

    @cached_property
    def models(self) -> dict[str, ModelConfig]:
        """Chosen models by name, in the order of the command line."""
        from ..backends.config import models, resolve
        from ..spec import declaration

        recorded = self.replayed["models"] if self.replayed else {}
        names = self.option("model") or list(recorded) or [DEFAULT_MODEL]
        declared = models(declaration(self.root, "models").data)
        # what nothing declares any more, or never did (BASE+ARM/SEED), is read again as it was asked
        declared |= models({name: {k: v for k, v in entry.items() if k != "name"}
                            for name, entry in recorded.items() if name not in declared})
        chosen = {name: resolve(name, declared) for name in dict.fromkeys(names)}
        if self.option("in_flight"):
            chosen = {name: replace(c, in_flight=self.option("in_flight")) for name, c in chosen.items()}
        if not self.option("adapter"):
            return chosen
        from ..adaptation.adapters import expand

        return expand(chosen, self.option("adapter"), self.root)

    @property
    def reachable(self) -> dict[str, ModelConfig]:
        """The models with the addresses of the servers that this run started."""
        return {name: replace(c, base_url=self.served[name]) if name in self.served else c
                for name, c in self.models.items()}

    @cached_property
    def selection(self) -> Any:
        from ..build import Selection

        views = self.option("views")
        old = (self.replayed or {}).get("selection", {})
        return Selection(
            views=tuple(v.strip() for v in views.split(",") if v.strip()) if views else _tuple(old.get("views")),
            limit=self.option("limit") or old.get("limit"),
            repeat=self.option("repeat") if self.option("repeat") != 1 else old.get("repeat", 1),
            shard=self.option("shard") or _tuple(old.get("shard")),
        )

    @property
    def processes(self) -> int:
        """How many processes ask at once; each gets its share of a model's limits."""
        worker = getattr(self.config, "workerinput", None)
        return int(worker["workercount"]) if worker else 1

    @cached_property
    def build(self) -> Builder:
        from ..build import Builder

        return Builder({s.name: s for s in self.specs}, self.models)

    def profile(self) -> Profile:
        """The gates of the chosen profile and how they are decided; none without one.

        Raises:
            SpecError: a profile or gate that is not right.
        """
        from ..report.decisions import NO_PROFILE, profile
        from ..spec import declaration

        if not self.option("gate"):
            return NO_PROFILE
        file = declaration(self.root, "gates")
        return profile(file.data, self.option("gate"), file.path, file.line)

    def check(self) -> None:
        """Resolve every name that the command line gives; see :func:`check_options`."""
        from ..build import known_views

        known_views(self.specs, self.selection)
        _ = self.models
        self.profile()

    def write_evidence(self) -> None:
        """Let the keeper of evidence write what it holds back; a full disk is told and keeps nothing from ending."""
        if self.keeper is not None:
            try:
                self.keeper.close()
            except IsoprobeError as error:
                print(f"isoprobe: {error}", file=sys.stderr)

    def close(self) -> None:
        said: set[str] = set()
        while self.closers:
            try:
                self.closers.pop()()
            except IsoprobeError as error:
                if str(error) not in said:
                    print(f"isoprobe: {error}", file=sys.stderr)
                said.add(str(error))


def _tuple(value: Any) -> tuple | None:
    return tuple(value) if value is not None else None


def check_options(config: pytest.Config) -> None:
    """Complain about what the command line names before anything is collected; silent where it names nothing.

    Raises:
        pytest.UsageError: with the one message that says what would be right.
    """
    run = run_of(config)
    if not any(config.getoption(name) for name in ("model", "spec", "views", "gate", "replay")):
        return
    try:
        run.check()
    except IsoprobeError as error:
        raise pytest.UsageError(str(error)) from None


def distributed(config: pytest.Config) -> bool:
    """Whether this is a run of pytest-xdist; its own plugin is not registered yet when this matters."""
    return getattr(config.option, "dist", "no") != "no"


def run_of(config: pytest.Config) -> Run:
    """The run of this session; workers take its id from their controller."""
    if RUN not in config.stash:
        worker = getattr(config, "workerinput", None)
        run = Run(config, worker["isoprobe_run_id"] if worker else _run_id(config))
        if worker:
            run.served.update(worker["isoprobe_served"])
        config.stash[RUN] = run
    return config.stash[RUN]


def _run_id(config: pytest.Config) -> str:
    given = config.getoption("run_id")
    if given is None:
        return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", given):
        raise pytest.UsageError(f"--run-id {given!r}: letters, digits, '.', '_' and '-' only, at most 100 characters")
    return given
