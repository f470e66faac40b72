"""What GitHub shows of a run, or of a comparison: a job summary and annotations.

``announce`` and ``tell`` do nothing outside GitHub Actions, which sets ``GITHUB_STEP_SUMMARY`` (a file to append to)
and ``GITHUB_ACTIONS``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..gates import failed
from .document import Document, data_kind
from .highlights import failures, numbers
from .text import LONG, markdown, plain, show

ANNOTATIONS = 10
"""GitHub shows ten errors a step."""
SUMMARY_BYTES = 900_000
"""GitHub refuses a step's summary above 1 MiB."""


def announce(document: Document, environ: Mapping[str, str] = os.environ, say: Callable[[str], object] = print) -> None:
    """Tell of a run."""
    tell(lambda: summary(document), lambda: annotations(document), environ, say)


def tell(
    summary: Callable[[], str],
    annotations: Callable[[], Sequence[str]],
    environ: Mapping[str, str] = os.environ,
    say: Callable[[str], object] = print,
) -> None:
    """Append Markdown to the job summary and print annotations, where there is someone to see them.

    A summary that cannot be written is a warning: the report is written, and its verdicts stand.
    """
    path = environ.get("GITHUB_STEP_SUMMARY")
    on_github = environ.get("GITHUB_ACTIONS") == "true"
    if path:
        try:
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(summary())
        except OSError as error:
            said = f"GITHUB_STEP_SUMMARY: {path} cannot be written ({error.strerror}); the report holds the same"
            say(f"::warning title=isoprobe::{_data(plain(said))}" if on_github else f"warning: {plain(said)}")
    if on_github:
        for line in annotations():
            say(line)


def summary(document: Document) -> str:
    """Markdown: verdicts, the numbers that matter, and what failed most."""
    bad = failed(document.verdicts)
    parts = [f"## isoprobe: run {markdown(str(document.run.get('id', '')))}"]
    if document.verdicts:
        parts.append(
            f"**{len(bad)} of {len(document.verdicts)} verdicts count as failed.**"
            if bad
            else f"All {len(document.verdicts)} verdicts count as passed."
        )
    if bad:
        parts.append(
            "\n".join(
                [
                    "| gate | model | verdict | why |",
                    "|---|---|---|---|",
                    *(
                        f"| {markdown(v.gate.name)} | {markdown(v.model)} | {v.result} | {markdown(v.message, LONG)} |"
                        for v in bad
                    ),
                ]
            )
        )
    for spec, models in numbers(document):
        kind = data_kind(document.run, document.rows, spec)
        labels = [n.label for n in models[0][1]]
        parts.append(f"### {markdown(spec)}{f' ({markdown(kind)} data)' if kind else ''}")
        parts.append(
            "\n".join(
                [
                    f"| model | {' | '.join(labels)} |",
                    f"|---|{'---:|' * len(labels)}",
                    *(
                        f"| {markdown(model)} | {' | '.join(show(n.estimate) for n in found)} |"
                        for model, found in models
                    ),
                ]
            )
        )
    worst = failures(document, 3)
    if worst:
        parts.append(
            "Most often not right: "
            + "; ".join(
                f"{markdown(', '.join(f.where.values()))} ({f.wrong + f.unreadable} of {f.requests})" for f in worst
            )
            + "."
        )
    return cut("\n\n".join(parts)) + "\n"


def cut(text: str) -> str:
    """A summary as long as GitHub takes."""
    data = text.encode()
    if len(data) <= SUMMARY_BYTES:
        return text
    kept = data[:SUMMARY_BYTES].decode(errors="ignore").rpartition("\n")[0]
    return f"{kept}\n\n… cut: the files of the report have the rest"


def annotations(document: Document) -> list[str]:
    """One for each failed verdict."""
    bad = failed(document.verdicts)
    return errors([(f"{v.gate.name} ({v.model})", f"{v.result}: {v.message}") for v in bad], "verdicts count as failed")


def errors(found: Sequence[tuple[str, str]], what: str) -> list[str]:
    """Workflow commands, one for each (title, message); the last says how many more there are of ``what``."""
    lines = [
        f"::error title={_property(plain(title))}::{_data(plain(message, 1000))}"
        for title, message in found[:ANNOTATIONS]
    ]
    if len(found) > ANNOTATIONS:
        lines[-1] = f"::error title=isoprobe::{len(found) - ANNOTATIONS + 1} more {what}; see the job summary"
    return lines


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
