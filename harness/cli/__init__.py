"""The command ``isoprobe``: what needs no pytest session. One module a command, imported when it is called.

    validate    counts of every spec, and whether the data fill them
    show        exactly what a model receives for one request
    models      what is declared, what it needs, whether its key is set
    report      a run's report again, from its outcomes alone
    fetch       the weights of the embedded language model
    audit       the default run: oracle, a scripted failure mode and a real language model side by side
    batch       requests and replies in the OpenAI batch file format
    train       LoRA adapters by the recipes of specs/adaptation
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from ..errors import IsoprobeError

COMMANDS = ("validate", "show", "models", "report", "fetch", "audit", "train", "batch")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0 done, 1 done and found wanting, 2 could not be done."""
    parser = argparse.ArgumentParser(prog="isoprobe", description=__doc__.splitlines()[0] if __doc__ else "",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in COMMANDS:
        module = import_module(f"{__name__}.{name}")
        doc = module.__doc__.strip()
        command = commands.add_parser(name, help=doc.splitlines()[0], description=doc,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
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
