"""Requests out to a file in the OpenAI batch format, and replies of any batch service in.

    isoprobe batch export --model NAME --spec SPEC [--limit N] OUT.jsonl
    vllm run-batch -i OUT.jsonl -o RESULTS.jsonl --model ...
    isoprobe batch import RESULTS.jsonl --model NAME --keys OUT.jsonl.keys
    pytest --model NAME --spec SPEC [--limit N]      # reads every reply from the store
"""

from __future__ import annotations

import argparse
from pathlib import Path

from .. import batch, prompts
from ..backends.config import ModelConfig, models, resolve
from ..build import Asked, Selection, expand, family
from ..dispatch import Asker
from ..errors import DataError
from ..probe import Request, RequestKey
from ..spec import declaration, load_all
from ..store import Store


def arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="export|import")
    for name, what in (("export", "file to write"), ("import", "file with the results")):
        action = actions.add_parser(name)
        action.add_argument("file", type=Path, metavar="FILE.jsonl", help=what)
        action.add_argument("--model", required=True, help="a model as for pytest --model")
        action.add_argument("--store", type=Path, default=Path(".isoprobe") / "replies.sqlite", help="file of replies")
    action.add_argument("--keys", type=Path, required=True, help="the .keys file that the export wrote")
    out = actions.choices["export"]
    out.add_argument("--spec", action="append", default=[], help="probe families; all when left out")
    out.add_argument("--views", help="names of views, or all")
    out.add_argument("--limit", type=int, help="instances of every task")
    out.add_argument("--repeat", type=int, default=1)


def run(args: argparse.Namespace) -> int:
    config = resolve(args.model, models(declaration(Path.cwd(), "models").data))
    names = args.spec if args.action == "export" else specs_in(args.keys)
    specs = {s.name: s for s in load_all(Path.cwd(), names)}

    def build(key: RequestKey) -> Request:
        spec = specs[key.spec]
        return family(spec).build(key, Asked(config.name, config.sees_images, config.readout_for(spec.readout)))

    with Store(args.store) as store:
        asker = Asker({config.name: reachable(config)}, store, build, prompts.compose)
        try:
            if args.action == "export":
                views = tuple(args.views.split(",")) if args.views else None
                select = Selection(views=views, limit=args.limit, repeat=args.repeat)
                keys = expand(specs.values(), [Asked(config.name, config.sees_images)], select)
                counts = batch.export(asker, keys, args.file)
                print(f"{args.file}: {counts['written']:,} requests written, {counts['stored']:,} have a stored reply; "
                      f"keys in {batch.keys_file(args.file)}")
                return 0
            counts = batch.absorb(asker, args.file, args.keys)
        finally:
            asker.close()
    print(f"{counts['replies']:,} replies stored, {counts['errors']:,} errors, {counts['missing']:,} requests without a "
          f"line, {counts['unknown']:,} lines of other exports")
    return 1 if counts["errors"] or counts["missing"] else 0


def reachable(config: ModelConfig) -> ModelConfig:
    """A batch needs no address; a backend may ask for one."""
    from dataclasses import replace

    return config if config.base_url else replace(config, base_url="http://batch.invalid/v1")


def specs_in(path: Path) -> list[str]:
    """Names of the specs that a .keys file mentions, in order."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); it lies beside the exported file") from None
    return list(dict.fromkeys(line.split("\t")[1].split("/")[0] for line in lines if "\t" in line))
