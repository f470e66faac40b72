"""Wording: questions, options and the text around them, in the unit that a view shows (appendix B).

The declared texts come from the spec; this module fills their placeholders and puts the pieces together for a readout.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from typing import Any

from .errors import DataError
from .probe import ABSTAIN, Option, Request, Variant, View, lettered
from .spec import Spec, TaskSpec
from .spectrum import AXIS_UNITS
from .variants import interface

QUANTITY = {"wavelength": "wavelength", "photon_energy": "photon energy", "wavenumber": "wavenumber",
            "frequency": "frequency"}
RANGE_FORMATS = {"nm": "g", "um": "g", "eV": ".3f", "cm^-1": ".0f", "THz": ".1f"}
"""How axis values stand in questions unless a view declares ``range_format``."""

CHARACTERS_PER_TOKEN = 2.6
"""Of tables full of digits, over several tokenizers; prose has about 4."""
IMAGE_TOKENS = 400
"""Of an 800 x 500 image; models differ between 85 and 1,100."""

JSON_SENTENCE = ("Answer with the option name in `choice`, and give your probability for every option in "
                 "`probabilities` (they should sum to 1).")
CONFLICT_SENTENCE = "Go by the descriptions of the options, not by their names."
SEVERAL_SENTENCE = "Answer question 1. Question 2 is answered separately."
LETTER_SENTENCE = "Answer with the letter of the correct option only."


def axis_value(nm: float, view: View) -> str:
    """A wavelength in the view's unit as questions show it, without the unit's name."""
    spec = view.range_format or RANGE_FORMATS[view.unit]
    return format(float(AXIS_UNITS[view.unit].from_nm(nm)), spec)


def axis_range(lo_nm: float, hi_nm: float, view: View) -> str:
    """An interval in the view's unit, smaller number first: ``450-605 nm``, ``2.049-2.755 eV``."""
    ends = [lo_nm, hi_nm]
    if AXIS_UNITS[view.unit].descending:
        ends.reverse()
    return f"{axis_value(ends[0], view)}-{axis_value(ends[1], view)} {view.unit}"


def words(variant: Variant, view: View) -> dict[str, str]:
    """The placeholders of question texts, as far as this variant has values for them."""
    unit = AXIS_UNITS[view.unit]
    quantity = QUANTITY[unit.quantity]
    out = {
        "axis": quantity,
        # "longer" always means longer wavelength; on an energy axis that is the lower value
        "axis_longer": f"lower {quantity}" if unit.descending else f"longer {quantity}",
        "axis_shorter": f"higher {quantity}" if unit.descending else f"shorter {quantity}",
    }
    facts = variant.facts
    if facts.get("span_nm"):
        out["range"] = out["full_range"] = axis_range(*facts["span_nm"], view)
    if facts.get("window_nm"):
        out["window"] = axis_range(*facts["window_nm"], view)
        out["depth"] = format(facts["depth"], ".2f")
    if facts.get("threshold_nm"):
        value = f"{axis_value(facts['threshold_nm'], view)} {view.unit}"
        out["threshold"] = value
        out["threshold_wavelength"] = f"the wavelength that corresponds to {value}" if unit.descending else value
    return out


def question(task: TaskSpec, variant: Variant, view: View) -> str:
    return task.questions[variant.facts["question"]].format_map(words(variant, view))


def options(task: TaskSpec, variant: Variant, view: View) -> tuple[Option, ...]:
    """The alternatives in displayed order; keys are the same in every view, labels follow its unit."""
    shown = tuple(_option(key, task, variant, view) for key in variant.facts["options"])
    said = [(o.label, o.description) for o in shown]
    for i, option in enumerate(said):
        if option in said[:i]:
            raise DataError(f"view {view.name}: two options of {task.kind} tasks are both {option[0]!r}; declare a "
                            "range_format with more digits")
    return shown


def _option(key: str, task: TaskSpec, variant: Variant, view: View) -> Option:
    if key == ABSTAIN:
        return Option(key, task["abstain"]["label"], task["abstain"]["description"])
    if key in ("shorter", "longer"):
        wording = "axis" if variant.facts.get("wording") == "energy" else "wavelength"
        return Option(key, task["options"][wording][key].format_map(words(variant, view)))
    if len(key) == 1:
        return Option(key, key, task["option_description"].format(letter=key))
    lo, hi = map(float, key.split("-"))
    return Option(key, axis_range(lo, hi, view))


def probe_wording(probe: str, request: Request, task: TaskSpec, variant: Variant, view: View) -> dict[str, Any]:
    """What an interface probe changes besides the options: fields of the request."""
    if probe == "conflicting_labels":
        return {"question": f"{request.question} {CONFLICT_SENTENCE}"}
    if probe == "several_questions":
        other = replace(variant, facts={**variant.facts, "question": interface.companion(variant, tuple(task.questions))})
        return {"companions": ((question(task, other, view), options(task, other, view)),)}
    return {}


def input_tokens(request: Request) -> float:
    """About how many tokens a request is for a model whose tokenizer is not at hand."""
    characters = len(request.system) + len(request.text)
    return characters / CHARACTERS_PER_TOKEN + IMAGE_TOKENS * len(request.images)


def introduction(spec: Spec, view: View, count: int) -> str:
    """The sentence before a table or beside a plot of ``count`` spectra."""
    return spec.data["evidence"]["plot" if view.has_image else "table"][count - 1]


def context(spec: Spec) -> str:
    return spec.data["evidence"]["context"].strip()


def compose(request: Request) -> str:
    """The text after the evidence, for a model asked in a chat; the form depends on the readout (appendix B).

    ``decision`` is what people are shown of a decision request; ``option_text`` ends where an option's text follows.
    """
    if request.companions:
        second = "\n\n".join(f"Question 2: {text}\nOptions:\n{_bullets(opts)}" for text, opts in request.companions)
        first = ask(request.question, request.options, request.readout).replace("Question: ", "Question 1: ", 1)
        return f"{second}\n\n{SEVERAL_SENTENCE}\n\n{first}"
    return ask(request.question, request.options, request.readout)


def ask(question: str, options: Sequence[Option], readout: str) -> str:
    """One question with its options, in the form of the readout."""
    head = f"Question: {question}"
    if readout == "option_letters":
        letters = lettered(options)
        lines = [f"{letter}. {_behind_letter(option, letters)}" for letter, option in letters.items()]
        return "\n".join([head, "Options:", *lines, LETTER_SENTENCE])
    if readout == "option_text":
        return f"{head}\nAnswer:"
    tail = [JSON_SENTENCE] if readout == "json_choice" else []
    return "\n".join([head, "Options:", _bullets(options), *tail])


def _bullets(shown: Sequence[Option]) -> str:
    return "\n".join(f"- {o.label}: {o.description}" if o.description else f"- {o.label}" for o in shown)


def _behind_letter(option: Option, letters: Container[str]) -> str:
    """An option behind its letter; where the label is that letter itself, its description stands for it."""
    if option.label in letters and option.description:
        return option.description
    return f"{option.label} ({option.description})" if option.description else option.label
