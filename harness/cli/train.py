"""Train LoRA arms of specs/adaptation, one adapter a seed.

    isoprobe train cpu-ftC --seed 0 --seed 1        # goes on where a killed run stopped
    pytest test_adaptation --model pico --adapter none --adapter cpu-ftC/0 --adapter cpu-ftC/1

Needs the train extra: pip install 'isoprobe[train]'.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tabulate import tabulate


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("arms", nargs="*", metavar="ARM", help="names of arms, or YAML files; all names when left out")
    parser.add_argument("--seed", type=int, action="append", default=[],
                        help="optimisation seed, repeatable; the arm's own when left out")
    parser.add_argument("--base", help="adapt this model instead of the arm's base")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder of adapters (default .isoprobe/adapters)")
    parser.add_argument("--device", default="cpu", help="torch device (default cpu)")
    parser.add_argument("--threads", type=int, default=0, help="threads of torch (default: its own choice)")
    parser.add_argument("--plan", action="store_true", help="count requests and show the rules; train nothing")


def run(args: argparse.Namespace) -> int:
    from ..adaptation import pools, spec

    root = Path.cwd()
    if not args.arms and not args.plan:
        print("arms:", ", ".join(spec.arm_files(root)))
        print("train one with: isoprobe train ARM --seed 0")
        return 0
    arms = [spec.load_arm(name, root) for name in args.arms or spec.arm_files(root)]
    if args.plan:
        print(plan(arms, root))
        return 0
    from ..adaptation.adapters import ADAPTERS
    from ..adaptation.base import find
    from ..adaptation.loop import train

    for arm in arms:
        base = find(args.base or arm.base, root)
        split = pools.split(arm, root, "option_letters")
        for seed in args.seed or arm.seeds:
            out = (args.out or root / ADAPTERS) / arm.name / str(seed)
            done = train(arm, seed, base, split, out, device=args.device, threads=args.threads)
            print(f"{arm.name}/{seed}: kept epoch {done.kept.epoch} of {len(done.curve)}, development accuracy "
                  f"{done.kept.accuracy:.3f}, in {done.folder}", flush=True)
    return 0


def plan(arms: list, root: Path) -> str:
    """Table 8 as far as it can be known before training."""
    from ..adaptation import pools

    rows = []
    for arm in arms:
        split = pools.split(arm, root, "option_letters")
        rule = f"{arm.rule.epochs} epochs" if arm.rule.keep == "last" else f"best of at most {arm.rule.epochs}"
        rows.append([arm.name, arm.base, len(arm.views), arm.sample or len(split.train), len(split.development),
                     len(split.shared), rule, " ".join(map(str, arm.seeds))])
    head = ("arm", "base", "tables", "train", "dev", "shared structures", "epochs", "seeds")
    return tabulate(rows, headers=head, intfmt=",")
