"""Write a run's report again, from its outcomes alone: no data, no model.

Several runs (shards, or models asked at different times) are merged into the folder named by --out, which may hold an
earlier report of the same runs, but no other run.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import RunError
from ..gates import failed
from ..report.decisions import NO_PROFILE, profile
from ..report.publish import PAGE, publish
from ..report.recorded import load, merge
from ..report.run import OUTCOMES, RUN, OutcomeLog, find_run, read_run, write_run
from ..spec import declaration


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders, or their names below the reports folder")
    parser.add_argument("--reports", type=Path, default=Path("reports"), metavar="DIR", help="folder of run folders")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder of the merged report of several runs")
    parser.add_argument("--gate", metavar="PROFILE", help="judge these gates; those of the run when left out")
    parser.add_argument("--no-figures", action="store_true", help="leave out the pictures")


def run(args: argparse.Namespace) -> int:
    folders = [find_run(name, args.reports) for name in args.runs]
    recorded = merge([load(folder) for folder in folders])
    if len(folders) > 1 and args.out is None:
        raise RunError("several runs need a folder of their own; add --out reports/NAME")
    out = args.out or folders[0]
    if len(folders) > 1 or out.resolve() != folders[0].resolve():
        _refuse_another_run(out, recorded.run)
        write_run(out, recorded.run, [o.key for o in recorded.outcomes])
        (out / OUTCOMES).unlink(missing_ok=True)
        with OutcomeLog(out) as log:
            for outcome in recorded.outcomes:
                log.append(outcome)
    name = args.gate or recorded.run.get("gate")
    file = declaration(Path.cwd(), "gates") if name else None
    chosen = profile(file.data, name, file.path, file.line) if file else NO_PROFILE
    document = publish(out, recorded.outcomes, recorded.run, chosen, recorded.notes, folders, not args.no_figures)
    print(out / PAGE)
    bad = failed(document.verdicts)
    for verdict in bad:
        print(f"{verdict.result.upper()} {verdict.gate.name} ({verdict.model}): {verdict.message}")
    return 1 if bad and args.gate else 0


def _refuse_another_run(out: Path, run: Mapping[str, Any]) -> None:
    """Rows are written over those of an earlier report of the same runs only.

    Raises:
        RunError: the folder holds another run, perhaps one of those that are merged.
    """
    if not any((out / name).exists() for name in (RUN, OUTCOMES)):
        return
    held = read_run(out) if (out / RUN).exists() else {}
    same = held.get("runs") == run["runs"] if "runs" in run else held == run
    if not same:
        raise RunError(f"{out}: holds run {held.get('id', '?')!r}, whose rows would be lost, and not an earlier report of "
                       "the same runs; name another folder with --out, or move this one away")
