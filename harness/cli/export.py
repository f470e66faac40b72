"""Write a run in the formats of other tools, or requests for a batch service.

isoprobe export RUN --to csv                      one flat table for pandas, R or a spreadsheet
isoprobe export RUN --to inspect                  logs that Inspect's viewer opens, one a suite and model
isoprobe export RUN_OR_SPEC --model M OUT.jsonl   requests in the OpenAI batch file format: vllm run-batch, Ray Data LLM,
                                                  a provider's batch service; isoprobe import takes the replies
"""

from __future__ import annotations

import argparse
import csv
import io
import json
from pathlib import Path
from typing import Any

from ..errors import RunError
from . import count
from .batch import export, store_argument


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="RUN_OR_SPEC", help="run folder, or its name below the reports folder; or a spec")
    parser.add_argument("file", metavar="OUT.jsonl", type=Path, nargs="?", help="with --model: the file to write")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--to", choices=("csv", "inspect"), help="the format")
    how.add_argument("--model", help="whom the requests are for, as for pytest --model")
    parser.add_argument("--reports", type=Path, default=Path("reports"), metavar="DIR", help="folder of run folders")
    parser.add_argument(
        "--out", type=Path, metavar="PATH", help="file (csv) or folder (inspect); default: in the run's folder"
    )
    parser.add_argument("--no-images", action="store_true", help="leave the pictures out of the logs")
    parser.add_argument("--views", help="of a spec: names of views, or all")
    parser.add_argument("--limit", type=count, help="of a spec: instances of every task")
    parser.add_argument("--repeat", type=count, default=1, help="of a spec: how often each is asked")
    store_argument(parser)


def run(args: argparse.Namespace) -> int:
    if args.model:
        if args.file is None:
            raise RunError("with --model, a file to write the requests to must be named: "
                           "isoprobe export SPEC --model M OUT.jsonl")
        return export(args)
    if args.file is not None:
        raise RunError(f"{args.file}: --to writes to the path given by --out: "
                       f"isoprobe export {args.what} --to {args.to} --out {args.file}")
    for name, default in (("views", None), ("limit", None), ("repeat", 1)):
        if getattr(args, name) != default:
            raise RunError(f"--{name} chooses requests for a --model; --to writes all rows of a run")
    from ..report import evidence
    from ..report.document import build
    from ..report.inspect_log import logs
    from ..report.recorded import load
    from ..report.run import find_run, replace_file

    folder = find_run(args.what, args.reports)
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
    """One line an outcome: its columns, ``facts.NAME`` for each fact, and JSON where a value is a list or mapping.

    ``right`` is what a mean can be taken of, as reports do: 1, or 0 for any other reply, and empty for a lost request.
    ``correct`` is empty for each reply that could not be read, which a mean would leave out.
    """
    from ..outcome import LOST, Outcome

    rows = [o.to_row() if isinstance(o, Outcome) else dict(o) for o in outcomes]
    facts = sorted({name for row in rows for name in row["facts"]})
    columns = [c for c in (rows[0] if rows else ()) if c != "facts"]
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*columns, "right", *(f"facts.{name}" for name in facts)])
    for row in rows:
        right = "" if row["status"] == LOST else int(row["status"] == "usable" and row["correct"] is True)
        writer.writerow([*(_cell(row[c]) for c in columns), right, *(_cell(row["facts"].get(name)) for name in facts)])
    return out.getvalue().encode()


def _cell(value: Any) -> Any:
    if isinstance(value, dict | list):
        return json.dumps(value, sort_keys=True) if value else ""
    return value
