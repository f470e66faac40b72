"""Put what every request showed, and what every reply said, into a run's folder, for the explorer of its report.

A run keeps them by itself; this is for runs recorded without, or elsewhere. Requests are built again from the specs and
must have the recorded hash; replies come from the store of replies, where it has them.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from ..errors import IsoprobeError, RunError


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders, or their names below the reports folder")
    parser.add_argument("--reports", type=Path, default=Path("reports"), metavar="DIR", help="folder of run folders")
    parser.add_argument(
        "--store",
        type=Path,
        default=Path(".isoprobe/replies.sqlite"),
        metavar="FILE",
        help="store of replies (default .isoprobe/replies.sqlite)",
    )


def run(args: argparse.Namespace) -> int:
    from ..report.run import find_run

    wanting = 0
    for name in args.runs:
        folder = find_run(name, args.reports)
        kept, differing, missing = keep(folder, args.store)
        print(f"{folder}: {kept} requests kept")
        if differing:
            print(f"  {differing} are asked differently by the specs as they are now, and were left out")
        if missing:
            print(f"  {missing} could not be built again")
        wanting += differing + missing
    return 1 if wanting else 0


def keep(folder: Path, store_path: Path) -> tuple[int, int, int]:
    """Write the evidence of a run.

    Returns:
        number of requests kept, of those whose content has changed since, and of those that cannot be built.

    Raises:
        RunError: the run has no outcomes, or its specs are gone.
    """
    from ..build import Asked, family
    from ..probe import RequestKey
    from ..report.evidence import Keeper
    from ..report.recorded import load
    from ..spec import load_all
    from ..store import Store

    recorded = load(folder)
    answered = [o for o in recorded.outcomes if o.request_sha256]
    if not answered:
        raise RunError(f"{folder}: no request of this run was answered; there is nothing to show")
    specs = {s.name: s for s in load_all(Path.cwd(), list(recorded.run["specs"]))}
    store = Store(store_path, readonly=True) if store_path.is_file() else None
    keeper, done, differing, missing = Keeper(folder), 0, 0, 0
    try:
        for o in answered:
            try:
                request = family(specs[o.spec]).build(RequestKey.parse(o.key), Asked(o.model, True, o.readout))
            except (KeyError, IsoprobeError):
                missing += 1
                continue
            # the run's settings, not today's: they are part of what was asked, and go before the suite's
            if sampling := (recorded.run["models"].get(o.model) or {}).get("sampling"):
                request = replace(request, sampling={**request.sampling, **sampling})
            if request.sha256 != o.request_sha256:
                differing += 1
                continue
            keeper.keep(request, [response for _, response in store.by_item(o.key)] if store else ())
            done += 1
    finally:
        keeper.close()
        if store:
            store.close()
    return done, differing, missing
