"""A store in tests: replies put and claimed one by one, and what its tables hold."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from harness.probe import Response
from harness.store import Claim, Store


def claim(store: Store, request: str) -> Claim:
    return store.claim_many([request])[0]


def put(store: Store, request: str, item: str, response: Response) -> None:
    store.put_many([(request, item, response)])


def counts(store: Store) -> dict[str, int]:
    """How many requests are answered, replies are kept, failed among them, and claims are open."""
    store.flush()
    answered, kept, failed, claims = _rows(
        store, "SELECT (SELECT count(DISTINCT request) FROM reply WHERE ok = 1), (SELECT count(*) FROM reply), "
               "(SELECT count(*) FROM reply WHERE ok = 0), (SELECT count(*) FROM claim)")[0]
    return {"answered": answered, "replies": kept, "failed": failed, "claims": claims}


def content(store: Store, sha256: str) -> dict[str, Any]:
    """What was asked, by ``Request.sha256``; images by hash."""
    found: dict[str, Any] = json.loads(_rows(store, "SELECT json FROM content WHERE sha256 = ?", sha256)[0][0])
    for part in found["evidence"]:
        if "text_sha256" in part:
            part["text"] = _rows(store, "SELECT text FROM evidence WHERE sha256 = ?", part.pop("text_sha256"))[0][0]
    return found


def images(store: Store) -> dict[str, bytes]:
    return dict(_rows(store, "SELECT sha256, bytes FROM image"))


def _rows(store: Store, query: str, *values: str) -> list[Any]:
    db = sqlite3.connect(store.path)
    try:
        return db.execute(query, values).fetchall()
    finally:
        db.close()
