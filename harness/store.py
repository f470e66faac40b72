"""Every reply, once: a SQLite file in WAL mode, keyed by everything that determines the reply.

Exactly once, whoever dies when. A request is *claimed* before it is sent and its raw reply is committed before anything
reads it; the claim goes in the same transaction. A claim belongs to an owner: host, boot, process id and that process's
start time. An owner on this machine is alive as long as its process is; one elsewhere as long as its heart beats. The
claims of the dead are taken over at once, so what was under way when a process was killed is asked again, and nothing
else is.

Replies are only appended. Failed ones (:func:`harness.classify.succeeded` says which) are kept as attempts and never
answer a request; the last successful one counts. Evidence is kept once, by hash. No configuration, header or key of a
service is ever written.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from .classify import succeeded
from .errors import StoreError
from .owner import process_alive, started_at, this_host
from .probe import Request, Response, Usage

VERSION = 2
"""1: the text of the evidence stood in every request that showed it."""
HEARTBEAT_S = 10.0
"""How often a process that holds claims says that it is alive."""
EXPIRY_S = 60.0
"""After how long without a heartbeat an owner on another machine counts as dead."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS reply (
    id INTEGER PRIMARY KEY, request TEXT NOT NULL, ok INTEGER NOT NULL, item TEXT NOT NULL, at REAL NOT NULL,
    owner TEXT NOT NULL, response TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS reply_request ON reply (request, ok, id);
CREATE INDEX IF NOT EXISTS reply_item ON reply (item, ok, id);
CREATE TABLE IF NOT EXISTS claim (request TEXT PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS owner (
    id TEXT PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, started TEXT NOT NULL, beat REAL NOT NULL)
    WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spent (run TEXT PRIMARY KEY, requests INTEGER NOT NULL, cost_usd REAL NOT NULL)
    WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS content (sha256 TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS evidence (sha256 TEXT PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS image (sha256 TEXT PRIMARY KEY, media_type TEXT NOT NULL, bytes BLOB NOT NULL);
"""


def store_key(request: Request, model_identity: str, more: str = "") -> str:
    """Hash of all that determines a reply: content, model, repeat, and what a backend adds."""
    parts = (request.sha256, model_identity, str(request.key.repeat), more)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def encode(response: Response) -> str:
    """A response as ASCII JSON; NULs, escapes and lone surrogates come back as they were."""
    row: dict[str, Any] = {name: getattr(response, name) for name in _RESPONSE}
    row["usage"] = {name: getattr(response.usage, name) for name in _USAGE}
    row["option_scores"], row["extra"] = dict(response.option_scores), dict(response.extra)
    return _line(row)


def decode(text: str) -> Response:
    """Inverse of :func:`encode`; fields of a newer version are ignored.

    Raises:
        StoreError: the text is no reply: the file was damaged, or written by something else.
    """
    try:
        row = json.loads(text)
        row["usage"] = Usage(**row["usage"])
        return Response(**row) if row.keys() <= _FIELDS else Response(**{k: v for k, v in row.items() if k in _FIELDS})
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise StoreError(f"a stored reply cannot be read ({type(error).__name__}: {error}): {text[:60]!r}; the store is "
                         "damaged: name another with --store, or restore it from a copy") from None


_line = json.JSONEncoder(separators=(",", ":")).encode
_RESPONSE = tuple(f.name for f in fields(Response) if f.name != "usage")
_FIELDS = {*_RESPONSE, "usage"}
_USAGE = tuple(f.name for f in fields(Usage))


@dataclass(frozen=True, slots=True)
class Claim:
    """The answer to a claim: the reply if there is one, else whether the request is ours to send."""

    state: Literal["done", "mine", "theirs"]
    response: Response | None = None


class Store:
    """One process's connection; safe to use from several threads.

    Args:
        path: the file; its folder is made. With ``readonly`` it must exist.

    Raises:
        StoreError: not a store, of a newer version, or not writable.
    """

    def __init__(self, path: Path, *, readonly: bool = False) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        self._buffer: list[tuple[Any, ...]] = []
        self._buffered: dict[str, Response] = {}
        self._owner = ""
        self._host = this_host()
        self._readonly = readonly
        try:
            self._db = self._open(readonly)
        except (sqlite3.Error, OSError) as e:
            raise StoreError(f"{self.path}: cannot be used as the store of replies ({e}); "
                             "move it away, or name another with --store") from e

    def _open(self, readonly: bool) -> sqlite3.Connection:
        if readonly and not self.path.is_file():
            raise StoreError(f"{self.path}: no such store of replies")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(self.path, timeout=60.0, check_same_thread=False, isolation_level=None)
        db.execute("PRAGMA busy_timeout = 60000")
        if readonly:  # query_only and not mode=ro: a reader of a WAL file may have to create its -shm
            db.execute("PRAGMA query_only = ON")
        else:
            _retry(lambda: db.execute("PRAGMA journal_mode = WAL").fetchone())
            db.execute("PRAGMA wal_autocheckpoint = 4000")
            db.execute("PRAGMA synchronous = NORMAL")  # a commit survives kill -9; only a power cut may lose the last
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise StoreError(f"{self.path}: written by a newer isoprobe (store version {version}, "
                             f"this one reads up to {VERSION}); update, or name another with --store")
        if version < VERSION and not readonly:
            with _immediate(db):
                for statement in _SCHEMA.split(";\n"):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {VERSION}")
        return db

    # -- reading -------------------------------------------------------------------------------------------------

    def get(self, request: str) -> Response | None:
        """The last successful reply to a store key, or None."""
        with self._reading():
            if request in self._buffered:
                return self._buffered[request]
            row = self._db.execute("SELECT response FROM reply WHERE request = ? AND ok = 1 ORDER BY id DESC LIMIT 1",
                                   (request,)).fetchone()
        return decode(row[0]) if row else None

    def get_many(self, requests: Sequence[str]) -> dict[str, Response]:
        """The last successful reply to each store key that has one."""
        with self._reading():
            held_back = {r: self._buffered[r] for r in requests if r in self._buffered} if self._buffered else {}
            return self._get_many([r for r in requests if r not in held_back]) | held_back

    def _get_many(self, requests: Sequence[str]) -> dict[str, Response]:
        rows = self._db.execute(
            f"SELECT request, response FROM reply WHERE request IN ({_marks(requests)}) AND ok = 1 ORDER BY id",
            requests)
        return {request: decode(text) for request, text in dict(rows).items()}

    def by_item(self, item: str) -> list[tuple[str, Response]]:
        """(store key, last successful reply) of every request ever sent for an item, in the order first answered."""
        self.flush()
        with self._reading():
            rows = self._db.execute(
                "SELECT request, response, max(id) FROM reply WHERE item = ? AND ok = 1 "
                "GROUP BY request ORDER BY min(id)", (item,)).fetchall()
        return [(request, decode(text)) for request, text, _ in rows]

    def attempts(self, request: str) -> list[Response]:
        """Every reply to a store key, failed ones too, oldest first."""
        self.flush()
        with self._reading():
            rows = self._db.execute("SELECT response FROM reply WHERE request = ? ORDER BY id", (request,)).fetchall()
        return [decode(row[0]) for row in rows]

    # -- claiming and writing -----------------------------------------------------------------------------------

    def claim_many(self, requests: Sequence[str]) -> list[Claim]:
        """For each: the reply, or the right to send, or the news that a living process is about to have the reply."""
        done = self.get_many(requests)  # the usual case of a resumed run needs no write lock
        left = [r for r in dict.fromkeys(requests) if r not in done]
        states: dict[str, Claim] = {}
        if left:
            with self._lock, self._transaction():
                states = self._claim(left)
        return [states[r] if r in states else Claim("done", done[r]) for r in requests]

    def _claim(self, requests: list[str]) -> dict[str, Claim]:
        me = self._register()
        marks = _marks(requests)
        held = dict(self._db.execute(f"SELECT request, owner FROM claim WHERE request IN ({marks})", requests))
        theirs = {owner for owner in set(held.values()) - {me} if self._living(owner)}
        came = self._get_many(requests)  # again: a reply may have come between the first look and the write lock
        states = {r: Claim("done", came[r]) if r in came else Claim("theirs" if held.get(r) in theirs else "mine")
                  for r in requests}
        self._db.executemany("INSERT OR REPLACE INTO claim VALUES (?, ?)",
                             [(r, me) for r, c in states.items() if c.state == "mine"])
        return states

    def _living(self, owner: str) -> bool:
        """Whether an owner is alive; a dead one loses all its claims."""
        row = self._db.execute("SELECT host, pid, started, beat FROM owner WHERE id = ?", (owner,)).fetchone()
        if row and self._alive(*row):
            return True
        self._db.execute("DELETE FROM claim WHERE owner = ?", (owner,))
        self._db.execute("DELETE FROM owner WHERE id = ?", (owner,))
        return False

    def release(self, requests: Iterable[str]) -> None:
        """Give up claims on what was not sent."""
        with self._lock, self._transaction():
            self._db.executemany("DELETE FROM claim WHERE request = ? AND owner = ?",
                                 [(r, self._owner) for r in requests])

    def put_many(self, replies: Sequence[tuple[str, str, Response]], asked: Iterable[Request] = ()) -> None:
        """Commit several (store key, item, reply) and what was ``asked``: what came together shares one commit."""
        now = time.time()
        with self._lock, self._transaction():
            self._db.executemany(
                "INSERT INTO reply (request, ok, item, at, owner, response) VALUES (?, ?, ?, ?, ?, ?)",
                [(r, int(succeeded(x)), item, now, self._owner, encode(x)) for r, item, x in replies])
            self._db.executemany("DELETE FROM claim WHERE request = ?", [(r,) for r, _, _ in replies])
            self._put_content(asked)

    def put_free(self, request: str, item: str, response: Response) -> None:
        """Keep a reply that cost nothing and can be had again: written in batches, at the latest by :meth:`close`."""
        row = (request, int(succeeded(response)), item, time.time(), "", encode(response))
        with self._lock:
            self._buffer.append(row)
            if row[1]:
                self._buffered[request] = response
            full = len(self._buffer) >= 256
        if full:
            self.flush()

    def flush(self) -> None:
        """Write what :meth:`put_free` holds back; of several processes that computed one reply the first is kept."""
        with self._lock:
            if not self._buffer:
                return
            with self._transaction():
                self._db.executemany(
                    "INSERT INTO reply (request, ok, item, at, owner, response) SELECT ?, ?, ?, ?, ?, ? "
                    "WHERE NOT EXISTS (SELECT 1 FROM reply WHERE request = ? AND ok = 1)",
                    [(*row, row[0]) for row in self._buffer])
            self._buffer.clear()
            self._buffered.clear()

    def _put_content(self, asked: Iterable[Request]) -> None:
        contents, parts = [], {}
        for request in asked:
            evidence = [{"image" if p.image else "text_sha256": p.sha256} for p in request.evidence]
            contents.append((request.sha256, _line({**request.content(), "evidence": evidence})))
            parts |= {p.sha256: p for p in request.evidence}
        self._db.executemany("INSERT OR IGNORE INTO content VALUES (?, ?)", contents)
        self._db.executemany("INSERT OR IGNORE INTO evidence VALUES (?, ?)",
                             [(name, p.text) for name, p in parts.items() if not p.image])
        self._db.executemany("INSERT OR IGNORE INTO image VALUES (?, ?, ?)",
                             [(name, p.media_type, p.image) for name, p in parts.items() if p.image])

    def spend(self, run: str, requests: int, cost_usd: float) -> tuple[int, float]:
        """Add to what a run has sent and paid; the total over all its processes."""
        with self._lock, self._transaction():
            self._db.execute(
                "INSERT INTO spent VALUES (?, ?, ?) ON CONFLICT (run) DO UPDATE SET "
                "requests = requests + excluded.requests, cost_usd = cost_usd + excluded.cost_usd",
                (run, requests, cost_usd))
            row = self._db.execute("SELECT requests, cost_usd FROM spent WHERE run = ?", (run,)).fetchone()
        return int(row[0]), float(row[1])

    def beat(self) -> None:
        """Say that this process is alive; call it every HEARTBEAT_S while claims are held."""
        if self._owner:
            with self._lock, self._transaction():
                self._register()

    def close(self) -> None:
        """Write what is held back and give up every claim. May be called twice."""
        with self._lock:
            if self._db is None:
                return
            if not self._readonly:
                self.flush()
                if self._owner:
                    with self._transaction():
                        self._db.execute("DELETE FROM claim WHERE owner = ?", (self._owner,))
                        self._db.execute("DELETE FROM owner WHERE id = ?", (self._owner,))
            self._db.close()
            self._db = None  # type: ignore[assignment]

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            with self._lock:
                yield
        except sqlite3.Error as e:
            raise StoreError(f"{self.path}: cannot be read ({e}); restore it from a copy, or move it away") from e

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            with _immediate(self._db):
                yield
        except sqlite3.Error as e:
            raise StoreError(f"{self.path}: {e}; is the disk full, or the file on a network share?") from e

    def _register(self) -> str:
        """Enter this process as a living owner, again where others took it for dead: it may only have been suspended."""
        self._owner = self._owner or uuid.uuid4().hex
        self._db.execute("INSERT INTO owner VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET beat = excluded.beat",
                         (self._owner, self._host, os.getpid(), started_at(os.getpid()) or "", time.time()))
        return self._owner

    def _alive(self, host: str, pid: int, started: str, beat: float) -> bool:
        if host != self._host:
            return time.time() - beat < EXPIRY_S
        return process_alive(pid, started)


def _marks(values: Sequence[str]) -> str:
    return ",".join("?" * len(values))


@contextmanager
def _immediate(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _retry(step: Any, tries: int = 100) -> Any:
    """Switching to WAL needs the file alone for a moment and does not wait by itself."""
    for n in range(tries):
        try:
            return step()
        except sqlite3.OperationalError as e:
            if "locked" not in str(e) or n == tries - 1:
                raise
            time.sleep(0.02)
    return None
