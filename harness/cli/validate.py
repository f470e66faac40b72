"""Check specs and print their counts.

For every spec: instances, core variants, variants, requests of a model that sees images and of a text-only one. The
data are loaded and the instances drawn, so a dataset that cannot fill the counts is an error that names the filter.

With --deep every request is built and answered by the oracle; surface features are tried as predictors of the answer;
balance, near-duplicates and the length of prompts are reported. The exit status is 1 when the oracle fails, surface
features predict the answers of a scope set, or a prompt is longer than a declared model can read.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from tabulate import tabulate

from ..build import ALL, Selection, family
from ..errors import Problem, SpecError, near
from ..spec import Spec, declaration, load_all
from ..tables import TABLES
from . import count

COLUMNS = ("spec", "instances", "core_variants", "variants", "requests", "requests_text_only")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("specs", nargs="*", metavar="SPEC", help="names or paths; all specs when left out")
    parser.add_argument("--json", action="store_true", help="print a list of objects instead of a table")
    parser.add_argument("--no-data", action="store_true", help="do not load data: check the declarations alone")
    parser.add_argument("--deep", action="store_true", help="also: is every request answerable, and only from its evidence?")
    parser.add_argument("--limit", type=count, metavar="N", help="with --deep: the first N instances of every task")


def run(args: argparse.Namespace) -> int:
    specs = load_all(Path.cwd(), args.specs)
    known_tables(specs)
    if args.deep:
        return deep(specs, args)
    rows = [counts(spec) for spec in specs]
    notes = [] if args.no_data else [note for spec in specs for note in check(spec)]
    if args.json:
        print(json.dumps(rows, indent=2))
    else:
        print(tabulate([[r[c] for c in COLUMNS] for r in rows], headers=[c.replace("_", " ") for c in COLUMNS],
                       intfmt=","))
        print(*notes, sep="\n")
    return 0


def known_tables(specs: tuple[Spec, ...]) -> None:
    """Complain about tables that no report has; a session leaves them out."""
    problems = [Problem(spec.file, spec.lines[("tables", i)], f"tables.{i}", f"{name!r} is not a table{near(name, TABLES)}")
                for spec in specs for i, name in enumerate(spec.tables) if name not in TABLES]
    if problems:
        raise SpecError(problems)


def deep(specs: tuple[Spec, ...], args: argparse.Namespace) -> int:
    """``--deep``; 1 when any spec has a problem."""
    from ..backends.config import models
    from ..deep import check as inspection
    from ..deep.page import text

    declared = models(declaration(Path.cwd(), "models").data)
    found = []
    for spec in specs:
        select = Selection(views=(ALL,), limit=args.limit)
        total = sum(1 for _ in family(spec).keys(select))
        found.append(inspection.check(spec, declared.values(), _progress(spec.name, total), select))
        if not args.json:
            print(text(found[-1]), end="\n\n")
    if args.json:
        print(json.dumps([f.to_json() for f in found], indent=2))
    return int(any(f.problems for f in found))


def _progress(name: str, total: int) -> Callable[[int], None]:
    """A line that a terminal overwrites; silent where stderr is a file."""
    def show(done: int) -> None:
        if sys.stderr.isatty() and (done % 20 == 0 or done == total):
            end = "\r\033[K" if done == total else "\r"
            print(f"{name}: {done:,} of {total:,} requests answered by the oracle", end=end, file=sys.stderr, flush=True)

    return show


def counts(spec: Spec) -> dict[str, str | int]:
    """Counts of one spec, from its declaration alone."""
    builder = family(spec)
    keys = list(builder.keys(Selection()))
    core = {v.name for v in spec.views if v.core}
    every = {(k.instance, k.variant) for k in keys}
    everywhere = builder.core_variants()
    return {
        "spec": spec.name,
        "instances": len({k.instance for k in keys}),
        "core_variants": len(everywhere) if core else 0,
        "variants": len(every),
        "requests": len(keys),
        "requests_text_only": sum(1 for _ in builder.keys(Selection(), sees_images=False)),
    }


def check(spec: Spec) -> list[str]:
    """Draw every instance; one line on where the evidence comes from, and notes of the dataset."""
    return family(spec).check()
