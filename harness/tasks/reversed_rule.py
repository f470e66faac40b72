"""The answer of a reader who takes the wrong extremum: a dip for a peak or the other way round (section 5.3)."""

from __future__ import annotations

from ..probe import ABSTAIN, Instance, Variant
from ..spec import TaskSpec
from .answers import Location, visible

OTHER = {"minimum": "maximum", "maximum": "minimum"}


def reversed_answer(task: TaskSpec, instance: Instance, variant: Variant, extremum: str) -> str:
    """Key of the option that answers the variant's question for the other extremum of its spectra.

    "" where that says nothing: unanswerable variants, questions that name their extremum, specifications, and an
    extremum outside all bands.
    """
    facts = variant.facts
    if variant.expected in (ABSTAIN, "") or task.kind not in ("compare", "threshold", "sufficiency", "scope"):
        return ""
    shown = [instance.evidence[k] for k in facts.get("order") or range(len(instance.evidence))]
    span = facts.get("span_nm") or (float("-inf"), float("inf"))
    nm = [visible(s, OTHER[extremum], span, facts.get("remove_nm")) for s in shown]
    if task.kind == "compare":
        if nm[0] == nm[1]:
            return ""
        return "AB"[nm.index(max(nm) if facts["direction"] == "longer" else min(nm))]
    return Location(task.get("bands_nm"), facts.get("threshold_nm")).of(nm[0])
