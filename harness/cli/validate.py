"""Check specs and print their counts.

For every spec: instances, core variants, variants, requests of a model that sees images and of a text-only one. The
data are loaded and the instances drawn, so a dataset that cannot fill the counts is an error that names the filter.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tabulate import tabulate

from ..build import Selection, family
from ..spec import Spec, load_all

COLUMNS = ("spec", "instances", "core_variants", "variants", "requests", "requests_text_only")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("specs", nargs="*", metavar="SPEC", help="names or paths; all specs when left out")
    parser.add_argument("--json", action="store_true", help="print a list of objects instead of a table")
    parser.add_argument("--no-data", action="store_true", help="do not load data: check the declarations alone")


def run(args: argparse.Namespace) -> int:
    specs = load_all(Path.cwd(), args.specs)
    rows = [counts(spec) for spec in specs]
    notes = [] if args.no_data else [note for spec in specs for note in check(spec)]
    if args.json:
        print(json.dumps(rows, indent=2))
    else:
        print(tabulate([[r[c] for c in COLUMNS] for r in rows], headers=[c.replace("_", " ") for c in COLUMNS],
                       intfmt=","))
        print(*notes, sep="\n")
    return 0


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
