"""Time and memory of collection, of a run and of a report against the number of requests: one command, one section, a curve.

    python harness/benchmarks/scale.py --work /tmp/scale --out docs/performance.md [--most 200000] [--only report]

Each point is a process of its own. Reports are of synthetic outcomes: up to 57 runs (19 models, 3 specs) of 3,552 requests.
Collection and runs are of ``metasurface-main``, repeated; in a run the scripted model ``coin`` answers, in the process.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import date
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from harness.benchmarks.measure import take
from harness.benchmarks.page import replace_section, table
from harness.outcome import Outcome
from harness.tests.plugin.session import ROOT, environment, project

RUN, SPECS = 3552, ("set-a", "set-b", "set-c")
STEPS = (1_000, 3_552, 10_000, 35_520, 100_000, 200_000)
RUN_STEPS = (1_000, 2_304, 6_912, 23_040, 69_120, 200_448)
TABLES = "table_nm,table_um,table_sci,table_ev"
COLUMNS = ("requests", "wall, s", "CPU, s", "CPU of each further request, us", "peak memory, MB")
COLORS = {"report": "#1f77b4", "collection": "#d95f02", "run": "#1b7837"}


@dataclass(frozen=True)
class Point:
    """What ``n`` requests took in one stage."""

    stage: str
    n: int
    wall_s: float
    cpu_s: float
    peak_mb: float


def outcomes(n: int) -> Iterator[Outcome]:
    """At least ``n`` outcomes of whole runs; of fewer instances a task where ``n`` is less than one run."""
    from harness.tests.validity.synthetic import answered, right_with

    made, k = 0, 0
    one: list[Outcome] = []
    while made < n:
        if k % len(SPECS) == 0:  # another model: another accuracy
            one = answered(right_with(0.4 + 0.03 * (k // len(SPECS))), n=48 if n >= RUN else max(2, round(48 * n / RUN)))
        spec, model = SPECS[k % len(SPECS)], f"model-{k // len(SPECS):02d}"
        for o in one:
            key = "/".join([spec, *o.key.split("/")[1:-1], model])
            yield replace(o, spec=spec, model=model, key=key)
        made, k = made + len(one), k + 1


def report(n: int, folder: Path) -> tuple[list[str], int]:
    """The command that reports ``n`` outcomes, and how many they are."""
    from harness.report.run import OutcomeLog, write_run

    out = folder / "reports" / "r"
    made = list(outcomes(n))
    run = {"id": "r", "seed": 1, "resamples": 2000, "specs": {s: {} for s in sorted({o.spec for o in made})},
           "models": {m: {} for m in sorted({o.model for o in made})}}
    write_run(out, run, [o.key for o in made])
    with OutcomeLog(out) as log:
        for outcome in made:
            log.append(outcome)
    return [sys.executable, "-m", "harness", "report", "r"], len(made)


def pytest_command(*more: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-qq", "-p", "no:cacheprovider", "--spec", "metasurface-main", "--model", "coin",
            *more]


def collection(n: int, folder: Path) -> tuple[list[str], int]:
    shutil.copytree(ROOT / "specs", project(folder) / "specs")
    times = max(1, round(n / RUN))
    few = ["--limit", "14"] if n < RUN else []
    return pytest_command("--collect-only", "--repeat", str(times), *few), 14 * 74 if few else times * RUN


def run(n: int, folder: Path) -> tuple[list[str], int]:
    shutil.copytree(ROOT / "specs", project(folder) / "specs")
    times = max(1, round(n / 2304))
    few = ["--limit", "21"] if n < 2304 else []
    more = ["--views", TABLES, "--no-figures", "--run-id", "r", "--repeat", str(times), *few]
    return pytest_command(*more), 21 * 48 if few else times * 2304


STAGES: dict[str, tuple[Callable[[int, Path], tuple[list[str], int]], tuple[int, ...]]] = {
    "report": (report, STEPS), "collection": (collection, STEPS), "run": (run, RUN_STEPS),
}


def measure(stage: str, n: int, work: Path, limit_s: float) -> Point:
    folder = work / f"{stage}-{n}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command, exactly = STAGES[stage][0](n, folder)
    taken = take(command, folder / "log.txt", environment(), folder, limit_s)
    if taken.status not in (0, 1):
        raise SystemExit(f"{stage} of {n}: status {taken.status}\n{taken.text[-2000:]}")
    return Point(stage, exactly, taken.wall_s, taken.cpu_s, taken.peak / 1e6)


def marginal(points: list[Point]) -> list[str]:
    """CPU microseconds of each further request since the point before: constant where time is linear."""
    return ["-", *(f"{1e6 * (b.cpu_s - a.cpu_s) / (b.n - a.n):,.0f}" for a, b in pairwise(points))]


def draw(points: list[Point], path: Path) -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams["svg.hashsalt"] = "scale"
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for stage, color in COLORS.items():
        mine = [p for p in points if p.stage == stage]
        for axis, of in zip(axes, ("cpu_s", "peak_mb"), strict=True):
            axis.loglog([p.n for p in mine], [getattr(p, of) for p in mine], "o-", color=color, label=stage, ms=4)
    axes[0].set(xlabel="requests", ylabel="CPU, s")
    axes[1].set(xlabel="requests", ylabel="peak memory, MB")
    axes[1].axhline(2000, color="0.5", lw=1, ls="--")
    axes[1].annotate("2 GB", (1000, 2000), (0, -11), textcoords="offset points", color="0.3", fontsize=8)
    axes[0].legend(frameon=False)
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def section(points: list[Point], figure: str) -> str:
    lines = [
        "Made by `python harness/benchmarks/scale.py --out docs/performance.md`, each point in a process of its own, on "
        f"{os.cpu_count()} CPUs; {date.today().isoformat()}. Time is linear where each further request costs the same. "
        "*Report*: `isoprobe report` with all tables, 2,000 resamples, figures and page, of synthetic outcomes (57 runs, at "
        "the right: 19 models, 3 specs). *Collection* is `pytest --collect-only`; *run* is a whole session whose model "
        "answers in the process, so no server's latency is in it, and writes a report without figures.", "",
        f"![CPU time and memory against requests]({figure})", "",
    ]
    for stage in STAGES:
        mine = [p for p in points if p.stage == stage]
        if mine:
            rows = [(f"{p.n:,}", f"{p.wall_s:.1f}", f"{p.cpu_s:.1f}", more, f"{p.peak_mb:,.0f}")
                    for p, more in zip(mine, marginal(mine), strict=True)]
            lines += [f"### {stage.capitalize()}", "", table(COLUMNS, rows), ""]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path(".isoprobe/scale"))
    parser.add_argument("--out", type=Path, help="page whose section is replaced; default: print it")
    parser.add_argument("--most", type=int, default=200_000, help="largest n")
    parser.add_argument("--only", choices=STAGES, help="one stage, the others as measured before")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds that one point may take")
    args = parser.parse_args()
    work = args.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    kept = work / "points.json"
    points = [Point(**p) for p in json.loads(kept.read_text("utf-8"))] if kept.exists() else []
    for stage, (_, steps) in STAGES.items():
        if args.only in (None, stage):
            points = [p for p in points if p.stage != stage]
            for n in (s for s in steps if s <= args.most):
                points.append(measure(stage, n, work, args.timeout))
                print(json.dumps(asdict(points[-1])), flush=True)
                kept.write_text(json.dumps([asdict(p) for p in points], indent=1), "utf-8")
    figure = (args.out.parent if args.out else work) / "images" / "scale.svg"
    draw(points, figure)
    body = section(points, f"images/{figure.name}")
    if args.out:
        replace_section(args.out, "Scale", body)
    else:
        print(body)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
