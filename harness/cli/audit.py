"""The default run on embedded data: oracle, scripted failure mode, embedded decision model, language model, side by side.

About four minutes on two cores. Replies are kept, so a second run takes seconds; everything it does is the pytest
command that it prints first.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from ..errors import RunError

SPECS = ("metasurface-main", "metasurface-scope")
MODELS = ("oracle", "abstain-on-truncation", "pico", "smollm2")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=int, default=2, help="instances of every task (default 2)")
    parser.add_argument("--model", action="append", default=[], help=f"models instead of {', '.join(MODELS)}")
    parser.add_argument("--run-id", default="audit", help="name of the folder under reports/")


def run(args: argparse.Namespace) -> int:
    import pytest

    if not Path("test_invariance").is_dir():
        raise RunError("test_invariance/ is not here; run this at the top of a clone, or of what `isoprobe init` made")
    command = ["test_invariance", "-n", "0", "-q", "--run-id", args.run_id, "--limit", str(args.limit), "--gate", "smoke"]
    command += [f"--spec={name}" for name in SPECS]
    command += [f"--model={name}" for name in args.model or MODELS]
    print("pytest", shlex.join(command), flush=True)
    return int(pytest.main(command))
