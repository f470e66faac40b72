"""The same requests through other tools and through isoprobe, side by side: one command, one page.

    python harness/benchmarks/peers.py --work /tmp/peers --out docs/performance.md [--limit 100] [--tools isoprobe,inspect]

Makes an environment a tool in the work folder (pip; npm for promptfoo), asks the same text requests of ``metasurface-main``
on a server of its own on loopback - 0 ms, 100 ms, and with 30 % of replies failing in 14 ways - and writes a section of the
page. Times depend on the machine and on what else it does: the ratios, taken in turn within one run, are what to read.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from harness.benchmarks.measure import Taken, take
from harness.benchmarks.page import replace_section, table
from harness.benchmarks.peer_tools import (
    CLIENTS,
    IN_FLIGHT,
    INSTANCES,
    PER_INSTANCE,
    ROOT,
    TOOLS,
    promptfoo_in,
    python_of,
    replies,
    version,
    write_project,
    write_prompts,
)
from harness.tests.dispatch.project import served

RESAMPLES, SAMPLED = 2000, 40
SHARE = 4
"""Of the requests, one in so many goes to the failing server: several tools wait for minutes there."""
SERVERS: dict[str, dict[str, Any]] = {
    "0 ms": {}, "100 ms": {"latency_s": 0.1}, "faults": {"fault_rate": 0.3, "latency_s": 0.02},
}
NAMES = {"isoprobe": "isoprobe", "inspect": "inspect_ai", "lm_eval": "lm-evaluation-harness", "deepeval": "DeepEval",
         "promptfoo": "promptfoo"}
QUIET = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1", "PROMPTFOO_SELF_HOSTED": "1",
         "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1", "DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Run:
    """One tool against one server. ``kept`` requests have a good reply, ``empty`` ones count as answered without one."""

    tool: str
    server: str
    asked: int
    finished: bool
    wall_s: float
    cpu_s: float
    peak_mb: float
    first_s: float
    span_s: float
    requests: int
    most_in_flight: int
    kept: int
    empty: int
    lost: int


def once(tool: str, server: str, work: Path, prompts: Path, n: int, limit: int, limit_s: float) -> Run:
    folder = work / "runs" / f"{tool}-{server.replace(' ', '')}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    out = folder / ("results.json" if tool == "promptfoo" else "replies.jsonl")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "ISOPROBE_", "OPENAI_"))} | QUIET
    if tool == "isoprobe":
        env["PYTHONPATH"] = str(ROOT)
    if tool == "promptfoo":
        env.update(PROMPTFOO_CONFIG_DIR=str(folder / "state"), PATH=f"{promptfoo_in(work).parent}{os.pathsep}{env['PATH']}")
    with served(CLIENTS / "server.py", **SERVERS[server]) as url:
        command = list(map(str, TOOLS[tool](work, url, prompts, out, limit)))
        taken: Taken = take(command, folder / "log.txt", env, folder, limit_s)
        with urllib.request.urlopen(url + "/stats") as reply:
            stats = json.load(reply)
    said = replies(tool, work, out)
    kept = sum(not error and '"choice"' in text for text, error in said)
    empty = sum(not error and '"choice"' not in text for text, error in said)
    return Run(tool, server, n, taken.status in (0, 1, 100) and bool(said), taken.wall_s, taken.cpu_s, taken.peak / 1e6,
               stats["first_at"] - taken.started if stats["first_at"] else float("nan"), stats["span_s"],
               stats["answered"] + stats["failed"], stats["most_in_flight"], kept, empty, n - kept - empty)


def bootstraps(work: Path, tools: list[str]) -> list[dict[str, Any]]:
    """CPU seconds for 2,000 resamples of every cell of a report of 3,552 outcomes, here and in the tools that resample."""
    from harness.benchmarks.cells import cells_of_a_report

    cells, seconds = cells_of_a_report(RESAMPLES)
    path = work / "cells.json"
    path.write_text(json.dumps(cells), "utf-8")
    found = [{"tool": "isoprobe", "seconds": seconds, "cells": len(cells)}]
    for tool in ("inspect", "lm_eval"):
        if tool in tools:
            done = subprocess.run([python_of(tool, work), CLIENTS / "bootstrap_client.py", tool, path, str(RESAMPLES),
                                   str(SAMPLED)], check=True, capture_output=True, text=True)
            found.append({"tool": tool, **json.loads(done.stdout.splitlines()[-1])})
    return found


def section(found: Mapping[str, Any]) -> str:
    """The section of the page: a table for each server, what was lost, and the intervals."""
    runs = [Run(**r) for r in found["runs"]]
    ours = {r.server: r for r in runs if r.tool == "isoprobe"}
    lines = [
        f"{found['n']:,} text requests of `metasurface-main` ({INSTANCES} instances a task), {IN_FLIGHT} at a time, to a "
        f"server on loopback that is a process of its own. {found['machine']}; {found['date']}. Each tool in an environment "
        "of its own; one run each, one after another, on a machine that other work shared at times: read CPU before wall "
        "time. Made by `python harness/benchmarks/peers.py --out docs/performance.md`.", "",
        "Versions: " + ", ".join(f"{NAMES[t]} {v}" for t, v in found["versions"].items()) + ".",
        *(f"\n{NAMES[t]} is missing: {why}" for t, why in found["missing"].items()), "",
    ]
    for server in [s for s in ("0 ms", "100 ms") if s in ours]:
        rows = [_speed(r, ours[server]) for r in runs if r.server == server]
        lines += [f"### {server} before each reply", "", table(SPEED, rows), ""]
    if "faults" in ours:
        rows = [_losses(r) for r in runs if r.server == "faults"]
        lines += ["### 30 % of replies fail", "", f"{ours['faults'].asked:,} of the requests. {FAULTS}", "",
                  table(LOSSES, rows), ""]
    if found["bootstraps"]:
        first = found["bootstraps"][0]
        rows = [(NAMES[b["tool"]], f"{b['seconds']:.2f}", f"{b['seconds'] / first['seconds']:.1f}")
                for b in found["bootstraps"]]
        lines += ["### Intervals of the same cells", "",
                  f"The {first['cells']} cells of the report of 3,552 outcomes, {RESAMPLES:,} resamples, CPU seconds in one "
                  "process. The others resample rows for a standard error; isoprobe resamples instances for an interval. "
                  f"Their time is scaled up from about {SAMPLED} of the cells.", "",
                  table(("tool", "CPU, s", "x ours"), rows), ""]
    return "\n".join(lines)


SPEED = ("tool", "wall, s", "x ours", "CPU, s", "x ours", "first request after, s", "requests a second while sending",
         "peak memory, MB", "x ours", "most in flight")
LOSSES = ("tool", "finished", "good replies kept", "recorded empty", "lost", "requests sent", "wall, s")
FAULTS = (
    "A reply fails in one of 14 ways: 408, 429 with and without a date, 500, 502, 503, 529, connections reset, bodies cut, "
    "HTML or an error with status 200, empty replies. Every tool may try a request ten times where it has such a setting. "
    "*Recorded empty* are requests that the tool counts as answered, and scores, though no answer came.")


def _losses(r: Run) -> tuple[str, ...]:
    return (NAMES[r.tool], "yes" if r.finished else "no", f"{r.kept:,}", f"{r.empty:,}", f"{r.lost:,}", f"{r.requests:,}",
            f"{r.wall_s:.1f}")


def _speed(r: Run, ours: Run) -> tuple[str, ...]:
    return (NAMES[r.tool] + ("" if r.finished else " (did not finish)"), f"{r.wall_s:.1f}", f"{r.wall_s / ours.wall_s:.2f}",
            f"{r.cpu_s:.1f}", f"{r.cpu_s / ours.cpu_s:.2f}", f"{r.first_s:.1f}",
            f"{r.requests / r.span_s:,.0f}" if r.span_s else "-", f"{r.peak_mb:,.0f}", f"{r.peak_mb / ours.peak_mb:.2f}",
            str(r.most_in_flight))


def machine() -> str:
    return f"{os.cpu_count()} CPUs, {platform.system()}, Python {platform.python_version()}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path(".isoprobe/peers"), help="environments and logs")
    parser.add_argument("--out", type=Path, help="page whose section is replaced; default: print it")
    parser.add_argument("--limit", type=int, default=INSTANCES * PER_INSTANCE, help="how many requests, at least 48")
    parser.add_argument("--tools", default=",".join(TOOLS), help="some of " + ", ".join(TOOLS))
    parser.add_argument("--servers", default=",".join(SERVERS), help="some of " + ", ".join(SERVERS))
    parser.add_argument("--timeout", type=float, default=900, help="seconds that one run may take")
    args = parser.parse_args()
    work = args.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    project = write_project(work / "project")
    most = max(1, round(args.limit / PER_INSTANCE))
    limits = {s: max(1, most // SHARE) if s == "faults" else most for s in args.servers.split(",")}
    prompts = {limit: work / f"prompts-{limit}.jsonl" for limit in {most, *limits.values()}}
    counts = {limit: write_prompts(path, project, limit) for limit, path in prompts.items()}
    versions, missing, runs = {}, {}, []
    for tool in args.tools.split(","):
        try:
            TOOLS[tool](work, "http://127.0.0.1:1", prompts[most], work / "x.json", most)
            versions[tool] = version(tool, work)
        except (OSError, subprocess.SubprocessError) as error:
            missing[tool] = f"it could not be installed here ({str(error)[:200]})"
    for server, limit in limits.items():
        for tool in versions:
            run = once(tool, server, work, prompts[limit], counts[limit], limit, args.timeout)
            print(json.dumps(asdict(run)), flush=True)
            runs.append(asdict(run))
    kept = work / "found.json"
    before = json.loads(kept.read_text("utf-8")) if kept.exists() else {"n": 0}
    if before["n"] == counts[most]:  # a part measured again takes the place of what it measured before
        again = {(r["tool"], r["server"]) for r in runs}
        runs += [r for r in before["runs"] if (r["tool"], r["server"]) not in again]
        versions, missing = before["versions"] | versions, before["missing"] | missing
        runs.sort(key=lambda r: (list(SERVERS).index(r["server"]), list(TOOLS).index(r["tool"])))
    found = {"n": counts[most], "date": date.today().isoformat(), "machine": machine(), "versions": versions,
             "missing": missing, "runs": runs, "bootstraps": bootstraps(work, list(versions))}
    kept.write_text(json.dumps(found, indent=1), "utf-8")
    if args.out:
        replace_section(args.out, "Beside other tools", section(found))
    else:
        print(section(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
