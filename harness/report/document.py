"""Everything that a report says, computed once from outcomes; the writers only lay it out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..bootstrap import RESAMPLES, Resamples
from ..outcome import Outcome, Table, Verdict
from ..rows import Rows
from ..tables import TABLES
from ..tables.grid import build as build_tables
from .decisions import NO_PROFILE, Profile, decide

ALWAYS = ("attrition", "cost")


@dataclass(frozen=True, slots=True)
class Document:
    """A report before it has a form.

    Attributes:
        run: ``run.json``.
        rows, resamples: what tables and figures are made from.
        tables: those with data, in the order of the report.
        verdicts: of the gates; empty where none were asked for.
        notes: what a reader must know about the data of the run.
    """

    run: Mapping[str, Any]
    rows: Rows
    resamples: Resamples
    tables: tuple[Table, ...]
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...]

    @property
    def simulated(self) -> list[str]:
        """Names of the specs whose evidence was computed, not measured."""
        return [name for name in self.rows.distinct("spec") if data_kind(self.run, self.rows, name) == "simulated"]


def build(outcomes: Iterable[Outcome | Mapping[str, Any]], run: Mapping[str, Any], profile: Profile = NO_PROFILE,
          notes: Sequence[str] = ()) -> Document:
    """Compute tables and verdicts; the same for any order of the outcomes."""
    rows = Rows.of(outcomes)
    resamples = Resamples.draw(rows, run.get("resamples", RESAMPLES), run.get("seed", 0),
                               run.get("interval", "percentile"))
    return Document(
        run, rows, resamples,
        tables=build_tables(rows, resamples, wanted_tables(run)),
        verdicts=decide(profile, rows, resamples, tuple(run.get("models", {}))),
        notes=(*run.get("notes", ()), *notes),
    )


def wanted_tables(run: Mapping[str, Any]) -> list[str]:
    """The tables that the specs name, in order; all where a spec names none. Attrition and cost are always there."""
    named = [spec.get("tables") for spec in run.get("specs", {}).values() if isinstance(spec, Mapping)]
    if not named or not all(named):
        return list(TABLES)
    return list(dict.fromkeys([*(t for tables in named for t in tables or ()), *ALWAYS]))


def data_kind(run: Mapping[str, Any], rows: Rows, spec: str) -> str:
    """``simulated``, ``measured`` or another word of the dataset, "" where nobody said."""
    dataset = run.get("specs", {}).get(spec, {}).get("dataset")
    if isinstance(dataset, Mapping) and dataset.get("kind"):
        return str(dataset["kind"])
    flags = {o.facts.get("simulated") for o in rows.where(spec=spec).outcomes}
    return "simulated" if True in flags else "measured" if False in flags else ""
