"""One request's replies and their reading as an outcome: a status first, an answer only where the status is usable.

The precedence is that of the modality paper, appendix D: a loop that the server detected, then a reply cut by the token
budget, then an error of the provider, then a reply that lacks a demanded field. Nothing is filled in: an outcome that
is not usable has no choice and is neither correct nor wrong; ``notes["said"]`` holds what could be read, if anything.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any

from .outcome import STATUSES, Outcome, finite
from .probe import ABSTAIN, Reading, Request, Response, View
from .readouts.text import without_thinking

_COLUMNS = ("wording", "direction", "cut", "deletion", "regime")
_SELF_REPORTED = frozenset({"json_choice"})
_PROVIDER = frozenset({"error", "content_filter"})


def reply_status(response: Response) -> str:
    """The status of a reply before reading it; ``usable`` means that it may be read.

    Reasoning is no reply: what is blank without it says nothing.
    """
    if response.finish_reason == "repetition":
        return "repetition"
    if response.finish_reason == "length" and not response.option_scores:
        return "truncated"
    if response.error or response.finish_reason in _PROVIDER:
        return "provider_error"
    if response.choice or response.option_scores or response.extra.get("refusal"):
        return "usable"
    return "usable" if without_thinking(response.text).strip() else "provider_error"


def succeeded(response: Response) -> bool:
    """Whether a reply answers its request for good; an error of the provider is asked again by the next run."""
    return reply_status(response) != "provider_error"


def worth_reading(responses: Sequence[Response]) -> bool:
    """Whether every reply arrived whole; one that did not must never be parsed for part of an answer."""
    return bool(responses) and all(reply_status(r) == "usable" for r in responses)


def outcome(
    request: Request,
    responses: Sequence[Response],
    reading: Reading | None,
    *,
    dataset: str,
    view: View,
    notes: Mapping[str, Any] | None = None,
) -> Outcome:
    """The flat row of one item, of builtins only.

    Args:
        request: what was asked (in forward order of options).
        responses: its replies: one, or one per order of options.
        reading: what they said, or None where they were not read.
        dataset, view: columns that the request does not carry.
        notes: more facts to record beside the reading's.
    """
    status = min((reply_status(r) for r in responses), key=STATUSES.index, default="provider_error")
    said = reading.choice if reading else None
    if status == "usable" and (reading is None or said is None or reading.missing):
        status = "unparsed"
    usable = status == "usable"
    key, truth = request.key, request.truth
    facts = {str(k): builtin(v) for k, v in truth.facts.items()}
    shares = {str(k): float(v) for k, v in reading.probabilities.items()} if reading and usable else {}
    served = {k: v for r in responses for k, v in r.extra.get("notes", {}).items()}
    recorded = {**(reading.notes if reading else {}), **served, **(notes or {})}
    if not usable and said is not None:
        recorded["said"] = said
    last = responses[-1] if responses else Response(error="no reply")
    choice = str(said) if usable else None
    return Outcome(
        key=str(key), spec=str(key.spec), dataset=str(dataset), task=str(key.task), instance=str(key.instance),
        cluster=str(truth.cluster or key.instance), variant=str(key.variant), relation=str(truth.relation),
        core=bool(truth.core and view.core), view=str(key.view), modality=str(view.modality), unit=str(view.unit),
        order=str(view.order), template=str(key.template), model=str(key.model), repeat=int(key.repeat),
        status=status, choice=choice, expected=str(truth.expected),
        correct=choice == str(truth.expected) if usable else None,
        abstained=choice == ABSTAIN if usable else None,
        options=[str(o.key) for o in request.options],
        probabilities=shares or None, confidence=shares.get(choice) if choice is not None else None,
        probability_kind=("self-reported" if request.readout in _SELF_REPORTED else "readout") if shares else "",
        claims={str(c.about): str(c.answer) for c in reading.claims} if reading and usable else {},
        missing=[str(m) for m in reading.missing] if reading else [],
        near_misses=[str(m) for m in reading.near_misses] if reading else [],
        answer_space=str(request.answer.get("space", "choice")),
        **{name: str(facts.pop(name, "") or "") for name in _COLUMNS},
        decoy=str(truth.decoy), first=str(truth.first), facts=facts,
        readout=str(request.readout),
        label_mass=_mean([r.label_mass for r in responses]), finish_reason=str(last.finish_reason),
        provider=str(last.provider), served_model=str(last.served_model), generation_id=str(last.generation_id),
        tokens_in=_total([r.usage.tokens_in for r in responses]),
        tokens_cached=_total([r.usage.tokens_cached for r in responses]),
        tokens_out=_total([r.usage.tokens_out for r in responses]),
        tokens_reasoning=_total([r.usage.tokens_reasoning for r in responses]),
        cost_usd=_total([r.usage.cost_usd for r in responses]),
        latency_s=_total([r.latency_s for r in responses]),
        tries=sum(int(r.tries) for r in responses),
        error=next((str(r.error)[:2000] for r in responses if r.error), ""),
        notes={str(k): builtin(v) for k, v in recorded.items()},
        request_sha256=request.sha256,
    )


_EXACT = frozenset({str, int, float, bool, type(None)})


def builtin(value: Any) -> Any:
    """``value`` as exact builtins: subclasses, enums, numpy scalars and paths travel badly between processes."""
    if type(value) in _EXACT:
        return value
    if isinstance(value, enum.Enum):
        return builtin(value.value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Mapping):
        return {str(k): builtin(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [builtin(v) for v in (sorted(value, key=str) if isinstance(value, set | frozenset) else value)]
    if hasattr(value, "tolist"):  # numpy scalars and arrays, without importing numpy
        return builtin(value.tolist())
    return str(value)


def _total(values: Sequence[Any]) -> Any:
    """The sum of what services said; a number that no sum can be taken of is not known."""
    known = [v for v in map(builtin, values) if v is not None and finite(v)]
    return (known[0] if len(known) == 1 else sum(known)) if known else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [float(v) for v in values if v is not None]
    return sum(known) / len(known) if known else None
