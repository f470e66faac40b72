"""Print exactly what a model receives for one request.

KEY is a request key as reports print it, or its end as the papers write it: `compare-000-orig-longer-axis table_ev`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from ..build import Asked, Selection, family
from ..errors import KeyLookupError, near
from ..probe import Request, RequestKey
from ..spec import Spec, load_all


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("key", nargs="+", metavar="KEY", help="a request key, or instance-variant and view")
    parser.add_argument("--spec", action="append", default=[], help="look in this spec only")
    parser.add_argument("--readout", default="", help="show the prompt of another readout")
    parser.add_argument("--image", type=Path, metavar="FILE", help="write the image (several: FILE-0.png, FILE-1.png)")
    parser.add_argument("--truth", action="store_true", help="also print what the harness expects")


def run(args: argparse.Namespace) -> int:
    spec, key = find(load_all(Path.cwd(), args.spec), " ".join(args.key))
    request = family(spec).build(key, Asked(key.model, True, args.readout))
    print(describe(request))
    if args.truth:
        print(f"\n--- expected: {request.truth.expected}  {dict(request.truth.facts)}")
    if args.image:
        for path in write_images(request, args.image):
            print(f"--- image written to {path}", file=sys.stderr)
    return 0


def describe(request: Request) -> str:
    """The messages as text; an image is named by its type and size."""
    lines = [f"--- {request.key}  (readout {request.readout})"]
    if request.system:
        lines += ["--- system", request.system]
    lines.append("--- user")
    for part in request.evidence:
        shown = f"[{part.media_type}, {len(part.image):,} bytes, sha256 {part.sha256[:12]}]" if part.image else part.text
        lines += [shown, ""]
    return "\n".join([*lines, request.prompt])


def write_images(request: Request, path: Path) -> list[Path]:
    images = request.images
    if not images:
        raise KeyLookupError(f"{request.key}: this view has no image; pick one such as plot_nm")
    paths = [path] if len(images) == 1 else [path.with_stem(f"{path.stem}-{i}") for i in range(len(images))]
    for target, part in zip(paths, images, strict=True):
        target.write_bytes(part.image)
    return paths


def find(specs: Iterable[Spec], text: str) -> tuple[Spec, RequestKey]:
    """The spec and key that ``text`` names.

    Raises:
        KeyLookupError: nothing or several things fit; names the nearest.
    """
    specs = tuple(specs)
    every = Selection(views=tuple({v.name for s in specs for v in s.views}))
    words = text.replace(",", " ").split()
    if len(words) == 1 and words[0].count("/") == 7:
        key = RequestKey.parse(words[0])
        for spec in specs:
            if spec.name == key.spec:
                return spec, key
        raise KeyLookupError(f"{text!r}: no spec {key.spec!r}{near(key.spec, [s.name for s in specs])}")
    if len(words) == 1 and "/" in words[0]:
        words = [w for w in words[0].split("/") if w]
    found, nearby, every_name = [], set(), set[str]()
    for spec in specs:
        for key in family(spec).keys(every):
            names = {key.spec, key.task, key.instance, key.variant, f"{key.instance}-{key.variant}", key.view, key.template}
            every_name |= names
            if all(w in names for w in words):
                found.append((spec, key))
            elif words[0].split("-")[0] in key.instance:
                nearby.add(f"{key.instance}-{key.variant}")
            every_name |= names
    if not found:
        names = ", ".join(s.name for s in specs)
        unknown = [w for w in words[1:] if w not in every_name]
        if unknown and words[0] in every_name:
            views = [v.name for s in specs for v in s.views]
            raise KeyLookupError(f"{unknown[0]!r} is no view of {names}{near(unknown[0], views)}")
        hint = near(words[0], sorted(nearby or every_name)[:5000])[:300]
        raise KeyLookupError(f"{text!r} is no request of {names}{hint}")
    if len(found) > 1:
        some = "\n  ".join(str(k) for _, k in found[:8])
        raise KeyLookupError(f"{text!r} fits {len(found)} requests; say which, for example\n  {some}")
    return found[0]
