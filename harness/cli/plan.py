"""How many instances a suite needs to find an effect, and what the run would cost.

    isoprobe plan --effect 10 --power 0.8 gold-main --pilot RUN
    isoprobe plan --effect 10 gold-main --pilot RUN --model qwen3.5-4b

The variance between instances comes from a pilot: a small run of the same suite, e.g. with --limit 10. Without one the
largest that there can be stands in, of a share and of the difference of two shares, which asks for too many.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from tabulate import tabulate

from ..errors import RunError


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", metavar="SPEC", help="a suite by name, or the path of its YAML file")
    parser.add_argument(
        "--effect",
        type=float,
        default=10.0,
        metavar="POINTS",
        help="difference to be found (default 10), for a score in its unit",
    )
    parser.add_argument("--power", type=float, default=0.8, help="chance of finding it (default 0.8)")
    parser.add_argument("--alpha", type=float, default=0.05, help="two-sided level (default 0.05)")
    parser.add_argument("--pilot", metavar="RUN", help="a run of this suite")
    parser.add_argument("--reports", type=Path, default=Path("reports"), metavar="DIR", help="folder of run folders")
    parser.add_argument(
        "--metric", action="append", default=[], metavar="NAME", help="instead of those of the suite; repeatable"
    )
    parser.add_argument("--model", metavar="NAME", help="price the run with this model")


def run(args: argparse.Namespace) -> int:
    from ..build import Selection, family
    from ..compare.power import needs, possible, required
    from ..outcome import number
    from ..spec import load_all

    spec = load_all(Path.cwd(), [args.spec])[0]
    keys = list(family(spec).keys(Selection()))
    declared = len({k.instance for k in keys})
    print(f"{spec.name}: {declared} instances declared, {len(keys):,} requests a model")
    pilot = _pilot(args, spec.name)
    if not pilot:
        possible(args.effect, "a share", "%")
        print(f"no pilot: with the largest variance there can be (power {args.power:g}, two-sided {args.alpha:g})")
        for sd, what in ((50.0, "between a share and a fixed value, as in a gate"), (100.0, "between two models")):
            needed = required(sd, args.effect, args.power, args.alpha)
            print(f"  {needed} instances find {args.effect:g} points {what} (SD {sd:g})")
        print(f"for a better answer: pytest --spec {args.spec} --limit 10 --model NAME, then --pilot RUN")
    else:
        metrics = args.metric or _metrics(pilot)
        found = needs(pilot, metrics, args.effect, args.power, args.alpha)
        rows = [
            [
                n.metric,
                n.what,
                number(n.value, n.unit),
                f"{number(n.sd, n.unit)}{'°' if n.flat else ''}",
                n.pilot_n,
                n.instances,
                "yes" if n.instances <= declared else "no",
            ]
            for n in found
        ]
        print(
            tabulate(
                rows,
                ["metric", "model, or difference", "pilot", "SD of instances", "pilot n", "needed", "declared suffice"],
                disable_numparse=[2, 3],  # would drop the zeros at the end
            )
        )
        if any(n.flat for n in found):
            print(
                "° the pilot shows no variance; the largest that its n cannot exclude stands for it, "
                "and the sums below leave it out"
            )
        needed = max((n.instances for n in found if not n.flat), default=0) or max(
            (n.instances for n in found), default=0
        )
        if not found:
            raise RunError(
                f"the pilot holds no data for {', '.join(metrics)}; name another --metric, or pilot another run"
            )
    requests = math.ceil(needed * len(keys) / declared)
    print(
        f"{needed} instances are {requests:,} requests a model "
        f"at this suite's {len(keys) / declared:.1f} requests an instance"
    )
    print(_cost(args, spec, keys, requests, pilot))
    return 0


def _pilot(args: argparse.Namespace, spec: str) -> list[Any]:
    from ..report.recorded import load
    from ..report.run import find_run

    if not args.pilot:
        return []
    outcomes = [o for o in load(find_run(args.pilot, args.reports)).outcomes if o.spec == spec and o.status != "lost"]
    if not outcomes:
        raise RunError(f"run {args.pilot!r} holds no request of {spec!r}; pilot a run of that suite")
    return outcomes


def _metrics(pilot: list[Any]) -> tuple[str, ...]:
    from ..report.highlights import triple
    from ..rows import Rows

    return triple(Rows.of(pilot))


def _cost(args: argparse.Namespace, spec: Any, keys: list[Any], requests: int, pilot: list[Any]) -> str:
    """What so many requests cost with the model: by the pilot's replies, else by estimated tokens and prices."""
    priced = [o for o in pilot if o.cost_usd and (not args.model or o.model == args.model)]
    if priced:
        each = sum(o.cost_usd for o in priced) / len(priced)
        return f"cost: about ${each * requests:,.2f} (${each:.5f} a request in the pilot)"
    if not args.model:
        return "cost: name a --model to price the run"
    from ..backends.config import models, resolve
    from ..build import Asked, family
    from ..prompts import input_tokens
    from ..spec import declaration

    config = resolve(args.model, models(declaration(Path.cwd(), "models").data))
    shown = [k for k in keys if config.sees_images or not spec.view(k.view).has_image]
    sample = shown[:: max(1, len(shown) // 24)]
    tokens = 0.0
    for key in sample:
        request = family(spec).build(key, Asked(config.name, config.sees_images, config.readout_for(spec.readout)))
        tokens += input_tokens(request)
    each = tokens / len(sample)
    requests = math.ceil(requests * len(shown) / len(keys))
    millions = each * requests / 1e6
    said = f"cost with {config.name}: {requests:,} requests, about {millions:,.1f} million input tokens (estimate)"
    if config.price_in:
        return f"{said}, ${each * requests * config.price_in / 1e6:,.2f} for input"
    return f"{said}; the model declares no price (price_in in specs/models.yaml)"
