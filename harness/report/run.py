"""The folder of a run, the only thing a report is made from.

    run.json        what was run: written at the start, rewritten at the end (see ``REQUIRED``)
    keys.txt        the keys of all requests of the run, one a line
    outcomes.jsonl  one outcome a line, append only, in the order in which they came

(``events.jsonl`` beside them tells people what happened on the way; nothing is computed from it.)

A run that was killed leaves a valid folder; ``harness.report.recorded`` makes one row a key of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import RunError, near
from ..outcome import LOST, STATUSES, Outcome
from ..probe import RequestKey

SCHEMA = 1
"""Version of run.json and of the rows; a reader takes its own version and older ones."""
REQUIRED = {
    "schema": "version of this format",
    "id": "name of the run",
    "specs": "name -> version, sha256, title, tables, dataset (name, kind: simulated or measured, licence, source)",
    "models": "name -> configuration, without secrets",
    "seed": "of the resamples",
}
"""What run.json must hold. Optional: resamples (2000), interval (percentile), selection, packages, python, notes."""
RUN, KEYS, OUTCOMES = "run.json", "keys.txt", "outcomes.jsonl"


def find_run(name: str, reports: Path) -> Path:
    """The folder of a run by path, or by name below ``reports``.

    Raises:
        RunError: there is none.
    """
    for folder in (Path(name), reports / name):
        if (folder / RUN).is_file():
            return folder
    known = sorted(p.parent.name for p in reports.glob(f"*/{RUN}"))
    raise RunError(f"{name!r} is not a run folder (one with {RUN}) and not a run below {reports}{near(name, known)}")


def read_run(folder: Path) -> dict[str, Any]:
    """``run.json``.

    Raises:
        RunError: missing, not JSON, of a newer version, or without what it must hold.
    """
    path = folder / RUN
    try:
        run = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise RunError(f"{path}: no such file; {folder} is not a run folder") from None
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: cannot be read as JSON ({error}); restore it or run again") from None
    if not isinstance(run, dict):
        raise RunError(f"{path}: holds a {type(run).__name__}; a JSON object is expected")
    if missing := [k for k in REQUIRED if k not in run]:
        raise RunError(f"{path}: {missing[0]!r} ({REQUIRED[missing[0]]}) is missing")
    if not isinstance(run["schema"], int) or not 1 <= run["schema"] <= SCHEMA:
        raise RunError(f"{path}: schema {run['schema']!r} is not one this version reads (1 to {SCHEMA}); "
                       "use the version of isoprobe that wrote it, or a newer one")
    for name in ("specs", "models"):
        if not isinstance(run[name], dict):
            raise RunError(f"{path}: {name}: {run[name]!r} is not an object by name")
    return run


def write_run(folder: Path, run: Mapping[str, Any], keys: Iterable[str] | None = None) -> None:
    """Write ``run.json`` in one step, and ``keys.txt`` where ``keys`` are given. ``schema`` is filled in."""
    if keys is not None:
        replace_file(folder / KEYS, "".join(f"{key}\n" for key in keys).encode())
    text = json.dumps({"schema": SCHEMA, **run}, indent=2, ensure_ascii=False, sort_keys=False)
    replace_file(folder / RUN, f"{text}\n".encode())


def begin_run(folder: Path, run: Mapping[str, Any], keys: Iterable[str]) -> None:
    """Write ``run.json`` and ``keys.txt`` before the first request; a run that is there already is completed: it keeps
    its start and all that it asked before, so that what is lost of it stays lost until it is asked again.

    Raises:
        RunError: the run asked another version of a spec, which would be other questions under the same keys.
    """
    if (folder / RUN).exists():
        old = read_run(folder)
        for name, spec in run["specs"].items():
            if name in old["specs"] and spec["sha256"] != old["specs"][name].get("sha256"):
                raise RunError(f"{folder / RUN}: this run asked another version of spec {name!r} "
                               f"(version {old['specs'][name].get('version')}, now {spec['version']}; the file has "
                               "changed); give this session another --run-id")
        changed = [name for name, model in run["models"].items() if old["models"].get(name, model) != model]
        notes = (f"model {name}: configured differently in an earlier session of this run" for name in changed)
        run = {**old, **run, "started": old.get("started", run.get("started")), "specs": {**old["specs"], **run["specs"]},
               "models": {**old["models"], **run["models"]}, "selection": _wider(old.get("selection"), run.get("selection")),
               "notes": list(dict.fromkeys((*old.get("notes", ()), *notes)))}
        keys = dict.fromkeys((*read_keys(folder, repair=True), *keys))
    write_run(folder, run, keys)


def read_keys(folder: Path, *, repair: bool = False) -> list[str]:
    """The keys of all requests of a run; none where it has no keys.txt. To ``repair`` leaves out lines that are no key.

    Raises:
        RunError: a line is no key.
    """
    path = folder / KEYS
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror}); restore it, or run again with the same run id") from None
    keys = []
    for number, line in enumerate(lines, 1):
        try:
            if line:
                keys.append(str(RequestKey.parse(line.decode("utf-8"))))
        except ValueError as error:
            if repair:
                continue
            raise RunError(f"{path}:{number}: not the key of a request ({error}); delete the line, or run again with the "
                           "same run id") from None
    return keys


def _wider(old: Any, new: Any) -> Any:
    """What selects all that either selects: None is no restriction."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    wider = {name: value if value == old.get(name) else None for name, value in new.items()}
    for name in ("limit", "repeat"):
        if old.get(name) and new.get(name):
            wider[name] = max(old[name], new[name])
    return wider


FLUSH_S = 0.2


class OutcomeLog:
    """Appends outcomes to ``outcomes.jsonl``. A torn last line is cut off on opening.

    Each row is written through unless the one before was less than ``FLUSH_S`` ago. What a killed process had not written
    through is in the store of replies, and is a row again when the run goes on.
    """

    def __init__(self, folder: Path):
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / OUTCOMES
        if path.exists():
            _cut_torn_line(path)
        self._file = path.open("a", encoding="utf-8", newline="\n")
        self._flushed = 0.0

    def append(self, outcome: Outcome) -> None:
        self.append_json(outcome.to_json())

    def append_json(self, line: str) -> None:
        """A row that is one line of JSON already.

        Raises:
            RunError: the disk is full, or the folder is gone.
        """
        now = time.monotonic()
        try:
            self._file.write(line + "\n")
            if now - self._flushed >= FLUSH_S:
                self._file.flush()
                self._flushed = now
        except OSError as error:
            raise self._refused(error) from None

    def close(self) -> None:
        """May be called twice. Raises RunError when the last rows cannot be written."""
        try:
            self._file.close()
        except OSError as error:
            raise self._refused(error) from None

    def _refused(self, error: OSError) -> RunError:
        return RunError(f"{self._file.name}: cannot be written ({error.strerror}); is the disk full? Replies so far are in "
                        "the store; run again to go on")

    def __enter__(self) -> OutcomeLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _cut_torn_line(path: Path) -> None:
    with path.open("r+b") as file:
        end = file.seek(0, os.SEEK_END)
        position, tail = end, b""
        while position and b"\n" not in tail:
            step = min(65536, position)
            position = file.seek(position - step)
            tail = file.read(step) + tail
        keep = position + tail.rfind(b"\n") + 1
        if keep < end:
            file.truncate(keep)


def read_outcomes(folder: Path) -> tuple[list[Outcome], list[str]]:
    """All rows in the order of the file, and notes about it.

    Raises:
        RunError: a line other than a torn last one is no outcome.
    """
    path = folder / OUTCOMES
    outcomes: list[Outcome] = []
    notes: list[str] = []
    if not path.exists():
        return outcomes, [f"{OUTCOMES} does not exist: no request was answered"]
    shared: dict[str, str] = {}  # most strings repeat; one copy of each
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                outcomes.append(_outcome(json.loads(line), shared))
            except (ValueError, TypeError, AttributeError, RecursionError) as error:
                if not line.endswith(b"\n"):
                    notes.append(f"{OUTCOMES}:{number}: the last line is torn (the run was killed) and was dropped")
                    continue
                raise RunError(f"{path}:{number}: not an outcome ({error}); delete the line, its request then "
                               "counts as lost and the next run completes it") from None
    return outcomes, notes


def _outcome(row: dict[str, Any], shared: dict[str, str]) -> Outcome:
    """Raises TypeError or ValueError where a column is missing or of another type, or the status is none."""
    outcome = Outcome.from_row({k: shared.setdefault(v, v) if v.__class__ is str else v for k, v in row.items()})
    if outcome.status not in (*STATUSES, LOST):
        raise ValueError(f"status: {outcome.status!r} is none{near(outcome.status, (*STATUSES, LOST))}")
    return outcome


def replace_file(path: Path, data: bytes) -> None:
    """Write in one step: a reader sees the old file or the new one, never half of it."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(data)
        os.replace(partial, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise RunError(f"{path}: cannot be written ({error.strerror}); is the folder writable and the disk not full?") \
            from None
