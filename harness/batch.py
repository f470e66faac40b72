"""The OpenAI batch file format: requests out to a file, replies of any batch service in.

One line a request, ``{"custom_id", "method", "url", "body"}``, as `vllm run-batch`, Ray Data LLM and providers' batch
services take it. ``custom_id`` is the key of the store, so equal requests are written once and a reply can never be taken
for another's. Beside the file lies ``FILE.keys``: which item each line answers.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .classify import succeeded
from .dispatch import Asker
from .errors import BackendError, DataError, TransientError
from .probe import RequestKey, Response


def export(asker: Asker, keys: Iterable[RequestKey], path: Path) -> Counter:
    """Write what is not in the store yet. Counts ``written`` and ``stored``.

    Raises:
        BackendError: a model whose backend is no HTTP service.
    """
    counts: Counter = Counter()
    seen: set[str] = set()
    with path.open("w", encoding="utf-8") as out, keys_file(path).open("w", encoding="utf-8") as index:
        for key in keys:
            lane = asker.lane(key.model)
            if not hasattr(lane.backend, "body"):
                raise BackendError(f"model {key.model}: its backend {lane.config.backend!r} is no HTTP service; "
                                   "there is nothing to batch")
            for request in asker.requests(key):
                name = lane.store_key(request)
                if asker.store is not None and asker.store.get(name) is not None:
                    counts["stored"] += 1
                    continue
                index.write(f"{name}\t{key}\n")
                if name in seen:
                    continue
                seen.add(name)
                url = urlsplit(lane.backend.url(request)).path
                line = {"custom_id": name, "method": "POST", "url": url[url.find("/v1/"):] if "/v1/" in url else url,
                        "body": lane.backend.body(request)}
                out.write(json.dumps(line, ensure_ascii=True, separators=(",", ":")) + "\n")
                counts["written"] += 1
    return counts


def absorb(asker: Asker, results: Path, index: Path) -> Counter:
    """Put the replies of a batch into the store. Counts ``replies``, ``errors``, ``unknown`` and ``missing``.

    Raises:
        DataError: a line that is not JSON or has no custom_id, or answers what the specs no longer ask; named with its
            line.
    """
    wanted: dict[str, list[RequestKey]] = {}
    for line in index.read_text("utf-8").splitlines():
        name, _, key = line.partition("\t")
        wanted.setdefault(name, []).append(RequestKey.parse(key))
    counts: Counter = Counter()
    answered = set()
    for number, line in enumerate(results.read_text("utf-8").split("\n"), 1):  # a reply may hold U+2028 as it is
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            name = row["custom_id"]
        except (ValueError, TypeError, KeyError):
            raise DataError(f"{results}:{number}: not a line of a batch result; expected JSON with custom_id") from None
        if name not in wanted:
            counts["unknown"] += 1
            continue
        key = wanted[name][0]
        lane = asker.lane(key.model)
        request = next((r for r in asker.requests(key) if lane.store_key(r) == name), None)
        if request is None:
            raise DataError(f"{results}:{number}: custom_id {name} answers another request than {key} is now: the spec, "
                            "the data or the model's settings have changed since the export; export again, or import "
                            "with what it was made from")
        response = _read(lane.backend, request, row)
        counts["replies" if succeeded(response) else "errors"] += 1
        answered.add(name)
        asker.store.put_many([(name, str(key), response)], [request])
    counts["missing"] = len(wanted.keys() - answered)
    return counts


def _read(backend: Any, request: Any, row: dict[str, Any]) -> Response:
    """One result line as a response: the body a server would have sent, or the error that stands instead."""
    reply = row.get("response") or {}
    if row.get("error") or reply.get("status_code", 200) != 200:
        return Response(error=str(row.get("error") or reply.get("body"))[:500], finish_reason="error")
    try:
        return backend.parse(request, reply.get("body") or {})
    except TransientError as error:
        return Response(error=str(error), finish_reason="error")


def keys_file(path: Path) -> Path:
    return path.with_name(path.name + ".keys")
