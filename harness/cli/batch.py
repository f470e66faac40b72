"""Take the replies of a batch service, in the OpenAI batch file format, into the store.

isoprobe export gold-main --model NAME OUT.jsonl          the requests, see isoprobe export
vllm run-batch -i OUT.jsonl -o RESULTS.jsonl --model ...  or any service that takes such files
isoprobe import RESULTS.jsonl --model NAME --keys OUT.jsonl.keys
pytest --model NAME --spec gold-main                      reads every reply from the store
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from .. import batch, prompts
from ..backends.config import ModelConfig, models, resolve
from ..build import Asked, Builder, Selection, expand
from ..dispatch import Asker
from ..errors import DataError, RunError
from ..probe import RequestKey
from ..spec import Spec, declaration, load_all
from ..store import Store


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="RESULTS.jsonl", help="file with the results")
    parser.add_argument("--model", required=True, help="the model of the export")
    parser.add_argument("--keys", type=Path, required=True, help="the .keys file that the export wrote")
    store_argument(parser)


def store_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", type=Path, default=Path(".isoprobe") / "replies.sqlite", help="file of replies")


def run(args: argparse.Namespace) -> int:
    with asking(args.model, args.store, names_in(args.keys)) as (asker, _, _):
        counts = batch.absorb(asker, args.file, args.keys)
    print(f"{counts['replies']:,} replies stored, {counts['errors']:,} errors, {counts['missing']:,} requests without a "
          f"line, {counts['unknown']:,} lines of other exports")
    return 1 if counts["errors"] or counts["missing"] else 0


def export(args: argparse.Namespace) -> int:
    """The requests of a spec, or those of a run, put to ``args.model``."""
    of_run = keys_of_run(args.what, args.reports)
    names = list(dict.fromkeys(key.spec for key in of_run)) or [args.what]
    with asking(args.model, args.store, names) as (asker, specs, config):
        if of_run:
            keys = list(dict.fromkeys(replace(key, model=config.name) for key in of_run))
        else:
            views = tuple(args.views.split(",")) if args.views else None
            select = Selection(views=views, limit=args.limit, repeat=args.repeat)
            keys = list(expand(specs, [Asked(config.name, config.sees_images)], select))
        counts = batch.export(asker, keys, args.file)
    print(f"{args.file}: {counts['written']:,} requests written, {counts['stored']:,} have a stored reply; "
          f"keys in {batch.keys_file(args.file)}")
    return 0


@contextmanager
def asking(model: str, store: Path, names: Sequence[str]) -> Iterator[tuple[Asker, tuple[Spec, ...], ModelConfig]]:
    """What builds the requests of a model and knows which have a reply."""
    config = resolve(model, models(declaration(Path.cwd(), "models").data))
    specs = load_all(Path.cwd(), names)
    with Store(store) as replies:
        builder = Builder({s.name: s for s in specs}, {config.name: config})
        asker = Asker({config.name: reachable(config)}, replies, builder, prompts.compose)
        try:
            yield asker, specs, config
        finally:
            asker.close()


def reachable(config: ModelConfig) -> ModelConfig:
    """A batch file needs neither an address nor a key; a backend may ask for both."""
    return replace(config, base_url=config.base_url or "http://batch.invalid/v1", key_env="")


def keys_of_run(name: str, reports: Path) -> list[RequestKey]:
    """The keys of a run's requests; none where there is no such run."""
    from ..report.run import find_run, read_keys

    try:
        folder = find_run(name, reports)
    except RunError:
        return []
    return [RequestKey.parse(key) for key in read_keys(folder)]


def names_in(path: Path) -> list[str]:
    """Names of the specs that a .keys file mentions, in order."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); it lies beside the exported file") from None
    return list(dict.fromkeys(line.split("\t")[1].split("/")[0] for line in lines if "\t" in line))
