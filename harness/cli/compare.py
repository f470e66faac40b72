"""Compare runs, or the models of a run, on the requests they share.

isoprobe compare RUN_A RUN_B                      every metric, paired by instance; which decisions flipped
isoprobe compare RUN                              the models of one run against its first
isoprobe compare RUN_A RUN_B --match instances    runs whose prompts differ, on the instances they share
isoprobe compare --save-baseline FILE RUN         keep a run as a small JSON file
isoprobe compare --against FILE RUN               exit status 1 if a metric is worse than the baseline beyond chance,
                                                  or if the run lacks requests of the baseline
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import RunError


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders, or their names below the reports folder")
    parser.add_argument("--reports", type=Path, default=Path("reports"), metavar="DIR", help="folder of run folders")
    parser.add_argument("--model", action="append", default=[], metavar="NAME", help="these models only; repeatable")
    parser.add_argument(
        "--match",
        choices=("requests", "instances"),
        default="requests",
        help="what the runs must share: identical requests (default), or instances",
    )
    parser.add_argument("--metric", action="append", default=[], metavar="NAME", help="these metrics only; repeatable")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder of the comparison (default reports/compare/A-B)"
    )
    parser.add_argument(
        "--save-baseline", type=Path, metavar="FILE", help="write the run as a baseline, and do no more"
    )
    parser.add_argument("--against", type=Path, metavar="FILE", help="compare with this baseline, and judge the change")
    parser.add_argument(
        "--max-drop",
        type=float,
        metavar="POINTS",
        help="with --against: also fail when a percentage is farther from its ideal by more than this",
    )
    parser.add_argument(
        "--allow-missing",
        action="store_true",
        help="with --against: the run may lack requests and models of the baseline (lost ones still fail)",
    )


def run(args: argparse.Namespace) -> int:
    from ..compare.arms import arms_of, comparisons, matched
    from ..compare.baseline import arms_against, save
    from ..compare.pages import flips_csv, page, text
    from ..compare.paired import compare
    from ..metrics import METRICS
    from ..metrics.metric import load as load_metric
    from ..report import github
    from ..report.recorded import load
    from ..report.run import find_run, replace_file

    if not args.against and (args.max_drop is not None or args.allow_missing):
        option = "--allow-missing" if args.max_drop is None else "--max-drop"
        raise RunError(f"{option} judges a change from a baseline; name one with --against FILE")
    if args.max_drop is not None and not 0 <= args.max_drop < math.inf:
        raise RunError(f"--max-drop {args.max_drop:g}: not a number of points from 0 on, e.g. 5")
    folders = [find_run(name, args.reports) for name in args.runs]
    recorded = [load(folder) for folder in folders]
    if args.save_baseline:
        if len(recorded) != 1:
            raise RunError("--save-baseline takes one run; merge several with isoprobe report --out first")
        save(args.save_baseline, recorded[0])
        print(
            f"{args.save_baseline}: {args.save_baseline.stat().st_size / 1000:.0f} kB, "
            f"{len(recorded[0].outcomes):,} requests of run {recorded[0].run['id']}"
        )
        return 0
    for name in args.metric:
        load_metric(name)
    arms = arms_of(list(zip(recorded, folders, strict=True)), args.model)
    lacking: list[str] = []
    if args.against:
        pairs, lacking = arms_against(args.against, arms, args.model, args.allow_missing)
        groups = [list(pair) for pair in pairs]
    else:
        groups = comparisons(arms)
    seed = int(recorded[0].run.get("seed", 0))
    resamples = int(recorded[0].run.get("resamples", 2000))
    found = []
    for group in groups:
        shared = matched(group, args.match)
        notes = [
            f"{sum(o.status == 'lost' for o in a.outcomes)} requests of {a.label} are lost"
            for a in group
            if any(o.status == "lost" for o in a.outcomes)
        ]
        notes += [a.note for a in shared if a.note]
        notes += [f"Not enough for the gate on change: {said}" for said in lacking]
        if args.match == "instances":
            notes.append("Matched on instances: the prompts may differ, and so may what a difference means")
        found.append(replace(compare(shared, seed, resamples, args.metric or METRICS), notes=tuple(notes)))
    if not found:  # the run has no reply to anything in the baseline
        return 1 if judge(found, args.max_drop, lacking) else 0
    names = [*([args.against.stem] if args.against else []), *(str(r.run["id"]) for r in recorded)]
    title = f"Comparison of {' and '.join(names)}"
    # by the names of the folders: an id is text from a file, and may be a path to anywhere
    places = [*([args.against.stem] if args.against else []), *(f.resolve().name for f in folders)]
    out = args.out or args.reports / "compare" / "-".join(places)
    said = text(found, title)
    replace_file(out / "compare.md", said.encode())
    replace_file(out / "compare.html", page(found, title, out))
    replace_file(out / "flips.csv", flips_csv(found))
    print_summary(found)
    print(out / "compare.html")
    bad = judge(found, args.max_drop, lacking) if args.against else []
    github.tell(
        lambda: github.cut(said),
        lambda: github.errors([("isoprobe compare", b) for b in bad], "reasons to fail"),
    )
    return 1 if bad else 0


def print_summary(found: list) -> None:
    """The differences that are beyond chance, or that there are none."""
    from ..compare.pages import differences
    from ..report.text import plain

    for c in found:
        changed = [d for d in c.summary if d.significant]
        print(
            plain(f"{' and '.join(a.label for a in c.arms[1:])} against {c.arms[0].label}", 1000)
            + f": {c.n_requests:,} requests, {len(c.flips):,} decisions differ"
        )
        print(differences(changed, where=True) if changed else "no difference beyond chance (Holm-adjusted, 5 %)")


def judge(found: list, max_drop: float | None, lacking: Sequence[str] = ()) -> list[str]:
    """Says what is worse than the baseline, and why. Like any gate, that on change passes only on evidence."""
    from ..outcome import number
    from ..report.text import plain

    lacking = [
        *lacking,
        *(
            f"{' and '.join(a.label for a in c.arms[1:])}: no metric could be tested; it takes two instances and a metric "
            f"with an ideal value"
            for c in found
            if all(d.adjusted_p is None for d in c.summary)
        ),
    ]
    worse = []
    for c in found:
        for d in c.summary:
            in_points = d.change.unit == "points"  # a score has none
            far = max_drop is not None and in_points and d.distance is not None and d.distance > max_drop
            if not (d.worse or far):
                continue
            why = "beyond chance" if d.worse else f"by more than {max_drop:g}"
            worse.append(
                f"{d.metric} on {d.where} ({d.arm}): {number(d.reference.value, d.reference.unit)} -> "
                f"{number(d.other.value, d.other.unit)}, worse {why}"
            )
    bad = [plain(said, 1000) for said in [*lacking, *worse]]
    for said in bad:
        print(f"FAIL {said}")
    left = sum(c.arms[0].left_out for c in found)
    on = sum(c.n_requests for c in found)
    why_not = [*([f"{len(worse)} metrics are worse"] if worse else []), *(["evidence is missing"] if lacking else [])]
    print(
        "gate on change: "
        + (" and ".join(why_not) or "holds" + (f", on {on:,} of the baseline's {on + left:,} requests" if left else ""))
    )
    return bad
