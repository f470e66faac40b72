"""Probes of the decision interface itself: the same question and evidence, the alternatives presented otherwise.

A probe is a further variant ``BASE+KIND`` of a core variant; the right option's key never changes, so a change of the
choice is a flip that no evidence asked for.

    reversed_options, rotated_options   the order of the options
    neutral_labels, opaque_labels       A, B, C or codes for names, the meaning in the description
    no_descriptions                     names alone
    conflicting_labels                  every option carries the name of another; the description is the key
    json_evidence                       the table as JSON
    several_questions                   a second question about the same evidence in the same request
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..probe import ABSTAIN, Option, Variant, View

SEPARATOR = "+"


def probes(kinds: Sequence[str], variant: Variant, view: View, options: int, questions: Sequence[str]) -> Iterator[str]:
    """Suffixes of the probes of one core variant in one view, from counts alone."""
    for kind in kinds:
        if kind == "rotated_options":
            yield from (f"{kind}-{r}" for r in range(1, options))
        elif kind == "json_evidence":
            if view.modality == "table" and view.kind != "json":
                yield kind
        elif kind == "several_questions":
            if companion(variant, questions):
                yield kind
        else:
            yield kind


def companion(variant: Variant, questions: Sequence[str]) -> str:
    """Another question about the same evidence, of the same wording where there is one; "" where there is none."""
    own = variant.facts["question"]
    wording = own.rpartition("-")[2] if "-" in own else ""
    return next((q for q in questions if q != own and q.endswith(wording)), "")


def kind_of(suffix: str) -> str:
    """``rotated_options`` of ``rotated_options-2``."""
    return suffix.split("-")[0]


def present(suffix: str, options: tuple[Option, ...]) -> tuple[Option, ...]:
    """The alternatives as a probe presents them; keys stay with their meaning."""
    kind = kind_of(suffix)
    if kind == "reversed_options":
        return options[::-1]
    if kind == "rotated_options":
        r = int(suffix.split("-")[1])
        return options[r:] + options[:r]
    if kind == "neutral_labels":
        # options that are single letters already get other letters, or nothing would change
        letters = "PQRSTUVW" if all(len(o.label) == 1 for o in options) else "ABCDEFGH"
        return tuple(Option(o.key, letters[i], meaning(o)) for i, o in enumerate(options))
    if kind == "opaque_labels":
        return tuple(Option(o.key, code(o.label), meaning(o)) for o in options)
    if kind == "no_descriptions":
        return tuple(replace(o, description="") for o in options)
    if kind == "conflicting_labels":
        named = [o for o in options if o.key != ABSTAIN]
        names = {o.key: named[(i + 1) % len(named)].label for i, o in enumerate(named)}
        return tuple(Option(o.key, names.get(o.key, o.label), meaning(o)) for o in options)
    return options


def meaning(option: Option) -> str:
    """What an option stands for, in words: its name, unless that is a mere letter, and its description."""
    return ": ".join(t for t in (option.label if len(option.label) > 1 else "", option.description) if t) or option.label


def code(label: str) -> str:
    """A four-character code without meaning, the same for the same label everywhere."""
    return "k" + hashlib.sha256(label.encode()).hexdigest()[:3]


def shown_view(suffix: str, view: View) -> View:
    return replace(view, kind="json") if suffix == "json_evidence" else view
