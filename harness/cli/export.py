"""Write a run in the formats of other tools.

isoprobe export RUN --to csv        one flat table for pandas, R or a spreadsheet
isoprobe export RUN --to inspect    logs that Inspect's viewer opens, one a suite and model
"""

from __future__ import annotations

import argparse
import csv
import io
import json
from pathlib import Path
from typing import Any


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="run folder, or its name below the reports folder")
    parser.add_argument("--to", choices=("csv", "inspect"), required=True, help="the format")
    parser.add_argument("--reports", type=Path, default=Path("reports"), metavar="DIR", help="folder of run folders")
    parser.add_argument(
        "--out", type=Path, metavar="PATH", help="file (csv) or folder (inspect); default: in the run's folder"
    )
    parser.add_argument("--no-images", action="store_true", help="leave the pictures out of the logs")


def run(args: argparse.Namespace) -> int:
    from ..report import evidence
    from ..report.document import build
    from ..report.inspect_log import logs
    from ..report.recorded import load
    from ..report.run import find_run, replace_file

    folder = find_run(args.run, args.reports)
    recorded = load(folder)
    if args.to == "csv":
        path = args.out or folder / "outcomes.csv"
        replace_file(path, flat(recorded.outcomes))
        print(path)
        return 0
    document = build(recorded.outcomes, recorded.run)
    out = args.out or folder / "inspect"
    for name, data in logs(document, evidence.read(folder), not args.no_images):
        replace_file(out / name, data)
        print(out / name)
    return 0


def flat(outcomes: Any) -> bytes:
    """One line an outcome: its columns, ``facts.NAME`` for each fact, and JSON where a value is a list or mapping."""
    from ..outcome import Outcome

    rows = [o.to_row() if isinstance(o, Outcome) else dict(o) for o in outcomes]
    facts = sorted({name for row in rows for name in row["facts"]})
    columns = [c for c in (rows[0] if rows else ()) if c != "facts"]
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*columns, *(f"facts.{name}" for name in facts)])
    for row in rows:
        writer.writerow([*(_cell(row[c]) for c in columns), *(_cell(row["facts"].get(name)) for name in facts)])
    return out.getvalue().encode()


def _cell(value: Any) -> Any:
    if isinstance(value, dict | list):
        return json.dumps(value, sort_keys=True) if value else ""
    return value
