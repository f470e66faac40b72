"""List the declared models: what each needs, and whether its key is set (yes or no, never the key)."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from tabulate import tabulate

from ..backends.config import ModelConfig, models
from ..spec import declaration


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="these only")


def run(args: argparse.Namespace) -> int:
    declared = models(declaration(Path.cwd(), "models").data)
    chosen = [c for n, c in declared.items() if not args.names or n in args.names]
    rows = [[c.name, c.backend, ", ".join(c.modalities), c.readout or "suite's", needs(c), c.description] for c in chosen]
    print(tabulate(rows, headers=("model", "backend", "sees", "readout", "needs", "what it is"),
                   maxcolwidths=[None, None, None, None, 40, 60]))
    return 0


def needs(config: ModelConfig) -> str:
    """What must be there before it can be asked."""
    parts = []
    if config.key_env:
        parts.append(f"{config.key_env} (set: {'yes' if os.environ.get(config.key_env) else 'no'})")
    if config.base_url and not config.key_env:
        parts.append(config.base_url)
    return ", ".join(parts) or "nothing"
