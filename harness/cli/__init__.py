"""The command ``isoprobe``: what needs no pytest session. One module a command, imported when that command is called."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

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
    "export": "write a run in the formats of other tools",
    "batch": "requests and replies in the OpenAI batch file format",
    "train": "train LoRA adapters by the recipes of specs/adaptation",
    "fetch": "fetch the weights of the embedded language model",
    "audit": "the default run on embedded data",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0 done, 1 done and found wanting, 2 could not be done."""
    argv = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="isoprobe", description="Same evidence, different view: does the decision hold?")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, help=text, formatter_class=argparse.RawDescriptionHelpFormatter)
        if argv and argv[0] == name:  # the others' modules are not worth loading
            module = import_module(f"{__name__}.{name}")
            command.description = module.__doc__
            module.arguments(command)
            command.set_defaults(call=module.run)
    args = parser.parse_args(argv)
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
