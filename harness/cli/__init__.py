"""The command ``isoprobe``: what needs no pytest session. One module a command, imported when that command is called."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from ..errors import IsoprobeError

COMMANDS = {
    "init": "lay out a folder for your own audits",
    "validate": "check specs, print their counts, and see whether the data fill them",
    "show": "print exactly what a model receives for one request",
    "models": "list the declared models, what each needs, whether its key is set; check one",
    "report": "write a run's report again from its outcomes alone, or merge runs",
    "evidence": "put what requests showed into the folder of an older run",
    "compare": "compare runs request by request, or with a baseline",
    "plan": "how many instances an effect needs, and what that costs",
    "export": "write a run in the formats of other tools, or requests for a batch service",
    "import": "take the replies of a batch service into the store",
    "train": "train LoRA adapters by the recipes of specs/adaptation",
    "fetch": "fetch the weights of the embedded language model",
    "audit": "the default run on embedded data",
}

MODULES = {"import": "batch"}
"""Of commands whose name is no module's."""


def count(text: str) -> int:
    """An argument that counts something."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a count; give 1 or more")
    return int(text)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0 done, 1 done and found wanting, 2 could not be done."""
    argv = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="isoprobe", description="Same evidence, different view: does the decision hold?")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, help=text, formatter_class=argparse.RawDescriptionHelpFormatter)
        if argv and argv[0] == name:  # the others' modules are not worth loading
            module = import_module(f"{__name__}.{MODULES.get(name, name)}")
            command.description = module.__doc__
            module.arguments(command)
            command.set_defaults(call=module.run)
    args, rest = parser.parse_known_args(argv)
    if len(rest) == 1 and not rest[0].startswith("-") and getattr(args, "file", "") is None:
        args.file = Path(rest.pop())  # behind an option; before Python 3.13 argparse takes an optional file only before
    if rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        return int(args.call(args) or 0)
    except IsoprobeError as error:
        print(f"isoprobe {args.command}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        return 130
