"""Write a run's report again, from its outcomes alone: no data, no model.

Several runs (shards, or models asked at different times) are merged into the folder named by --out.
"""

from __future__ import annotations

import argparse
from pathlib import Path


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders, or their names below reports/")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the merged report of several runs")
    parser.add_argument("--gate", metavar="PROFILE", help="judge these gates instead of the run's own")
