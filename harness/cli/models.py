"""List the declared models: what each needs, and whether its key is set (yes or no, never the key)."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from tabulate import tabulate

from ..backends.config import ModelConfig, models, resolve
from ..spec import declaration


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="these only")
    parser.add_argument("--check", metavar="NAME", help="send this model one text and one image request; show the replies")


def run(args: argparse.Namespace) -> int:
    declared = models(declaration(Path.cwd(), "models").data)
    if args.check:
        return check(resolve(args.check, declared))
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


CHECKS = (("table_nm", "text"), ("plot_nm", "image"))


def check(config: ModelConfig) -> int:
    """Ask the first comparison as a table and, where the model sees images, as a plot; 1 when a reply is not usable."""
    from .. import classify, prompts
    from ..build import Builder
    from ..dispatch import Asker
    from ..probe import RequestKey
    from ..readouts.permute import read
    from ..spec import load_all

    (spec,) = load_all(Path.cwd(), ["metasurface-main"])
    models = {config.name: config}
    asker = Asker(models, None, Builder({spec.name: spec}, models), prompts.compose)
    bad = 0
    try:
        for view, modality in CHECKS:
            if modality not in config.modalities:
                print(f"{modality}: not asked, the model is declared without {modality}s")
                continue
            key = RequestKey(spec.name, "compare", "compare-000", "orig-longer-wavelength", view, "plain", 0, config.name)
            got = asker.ask(key)
            reading = read(got.replies) if classify.worth_reading(got.responses) else None
            outcome = classify.outcome(got.request, got.responses, reading, dataset="", view=spec.view(view))
            bad += outcome.status != "usable"
            last = got.responses[-1]
            print(f"{modality}: {outcome.status}; chose {outcome.choice!r} (right: {outcome.expected!r}), "
                  f"probabilities {outcome.probabilities}, {outcome.tokens_in} tokens in, {outcome.latency_s or 0:.2f} s, "
                  f"served by {last.provider or '-'} / {last.served_model or '-'}")
            print(f"  said: {(last.text or last.error)[:500]!r}")
    finally:
        asker.close()
    return 1 if bad else 0
