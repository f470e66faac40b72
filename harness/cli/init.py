"""Lay out a folder for your own audits: specs to change, and the test files that run them.

Nothing that is there already is overwritten.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from ..errors import RunError
from ..spec import PACKAGE_SPECS

CLONE = Path(__file__).parents[2]
TEMPLATE = Path(__file__).parents[1] / "_template"
"""Where the test files lie in an installed wheel; in a clone they stand at the top level."""
PARTS = ("specs", "test_invariance", "test_sufficiency", "test_adaptation", "conftest.py", "pytest.ini")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="made if it is not there")


def run(args: argparse.Namespace) -> int:
    there = [p for p in PARTS if (args.folder / p).exists()]
    if there:
        raise RunError(f"{args.folder / there[0]} exists already; name a folder without {', '.join(there)}")
    args.folder.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        source, target = source_of(part), args.folder / part
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, target)
    (args.folder / ".gitignore").write_text("__pycache__/\n.isoprobe/\n.pytest_cache/\nreports/\n", encoding="utf-8")
    print(f"{args.folder}: specs to change in specs/, and the tests that run them. Try:\n"
          f"  cd {args.folder}\n  isoprobe validate gold-main\n  pytest --model coin --spec gold-main --limit 3")
    return 0


def source_of(part: str) -> Path:
    """Where a part of the layout comes from: the wheel's copy, or the clone's own."""
    packaged = PACKAGE_SPECS if part == "specs" else TEMPLATE / part
    found = packaged if packaged.exists() else CLONE / part
    if not found.exists():
        raise RunError(f"{part} is missing from this installation; install isoprobe again")
    return found
