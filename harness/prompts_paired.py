"""Wording of the modality suites: two messages put together from the declared texts (modality paper, appendix C).

The system message is a declared template with placeholders: the task description, which names the inputs that are
supplied, and a closing block that depends on the condition. The user message holds the supplied inputs, pictures before
text, then a notice that names withheld inputs where the spec declares one, then question and options where the item
has them. A withheld input appears in neither message, except where the spec's own words name it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .datasets.paired import Pair
from .errors import DataError, near
from .probe import Option, View
from .spec import Spec
from .spec_paired import PLACEHOLDER

SUFFICIENCY = ("SUFFICIENT", "INSUFFICIENT")

DEFAULTS = {
    "plain": """{description}

Finish your response with a line of exactly this form, and write nothing after it:

ANSWER: <{form}>""",
    "joint": """{description}

After you have committed to an answer, provide a detailed assessment of which of the two inputs your answer actually \
rests on. Take each input in turn: say what you read off it, and whether that was what decided your answer. Describing \
an input is not the same as using it - only credit an input if your answer would have been different without it. \
Finding that one of the inputs did not affect your answer is a normal and useful outcome; say so plainly when it is \
the case.

Then state, for each input on its own, the answer you would have given from that input alone.

Write that assessment as ordinary prose. Do not use the labels below as headings inside it - each label must appear \
exactly once in your whole response, on its own final line.

Finish your response with exactly these three lines, in this order, and write nothing after them:

ANSWER: <{form}>

{first_label}_ALONE: <the answer from the {first} alone - {form}>

{second_label}_ALONE: <the answer from the {second} alone - {form}>""",
    "single": """{description}

After you have committed to an answer, provide a detailed assessment of how far the {input} actually determined it: \
what it settled, and what you had to guess at.

You were not shown this problem's {other}. Consider what your answer would be if you had been shown it as well, and \
state that answer explicitly. Do not answer whether more input would be welcome - state the answer you would give. If \
the {other} would not move you off the answer you already gave, repeat it unchanged; that is the expected answer \
whenever the {other} would add nothing.

Then choose whichever of these two statements is true of your answer:

SUFFICIENT - the {input} on its own settles the answer; the {other} would not change it.

INSUFFICIENT - the {input} on its own does not settle the answer; the {other} would change it.

Write that assessment as ordinary prose. Do not use the labels below as headings inside it - each label must appear \
exactly once in your whole response, on its own final line.

Finish your response with exactly these three lines, in this order, and write nothing after them:

ANSWER: <{form}>

WITH_{other_label}: <the answer you would give if you had also seen the {other} - {form}>

SUFFICIENCY: SUFFICIENT or INSUFFICIENT""",
    "question": "{question}\n{options}",
    "notice": "",
}
"""Texts of a spec that declares none of its own: IsoBench's wording, the most general of the paper's three."""

def pair_of(spec: Spec) -> tuple[str, str]:
    """The names of the two inputs that are withheld and restored: the first two declared."""
    first, second, *_ = spec.data["inputs"]
    return first, second


def given(spec: Spec, view: View) -> tuple[str, ...]:
    """The inputs that a view supplies."""
    declared = view.style.get("given")
    if declared:
        return tuple(declared)
    return (view.name,) if view.name in spec.data["inputs"] else pair_of(spec)


def arm(spec: Spec, view: View) -> str:
    """``both``, the name of the one input of the pair that is supplied, or "" for a view outside the pair."""
    supplied, pair = given(spec, view), pair_of(spec)
    if supplied == pair:
        return "both"
    return supplied[0] if len(supplied) == 1 and supplied[0] in pair else ""


def system(spec: Spec, view: View, template: str, fields: Mapping[str, str]) -> str:
    """The system message of one condition.

    Raises:
        DataError: a placeholder that neither the family nor the item fills.
    """
    where = arm(spec, view)
    kind = "plain" if template == "plain" else "joint" if where == "both" else "single"
    words = {**fields, **_names(spec, where)}
    description = spec.data["prompts"]["description"]
    if isinstance(description, Mapping):
        description = description[view.name]
    words["form"] = fill(form(spec), words)
    words["description"] = fill(description, words)
    said = fill(text(spec, kind), words)
    left = [m[0] for m in PLACEHOLDER.finditer(fill(text(spec, kind), {**words, "description": ""}) + description)
            if m[1] not in words]
    if left:
        raise DataError(f"{spec.place('prompts')}: {left[0]} stands for nothing on an item{near(left[0][1:-1], words)}")
    return said


def text(spec: Spec, name: str) -> str:
    return spec.data["prompts"].get(name, DEFAULTS[name])


def form(spec: Spec) -> str:
    """How an answer should look, e.g. ``exactly one of: even, odd, neither``."""
    answer = spec.data["answer"]
    if "form" in answer:
        return answer["form"]
    if answer["space"] == "integer":
        return "a single integer, and nothing else"
    if answer["space"] == "choice":
        return f"exactly one of: {', '.join(answer['values'])}"
    return f"a JSON array of {answer.get('noun', 'names')} from this list: {', '.join(answer['members'])}"


def _names(spec: Spec, where: str) -> dict[str, str]:
    inputs = spec.data["inputs"]
    first, second = pair_of(spec)
    words: dict[str, str] = {}
    for place, name in (("first", first), ("second", second)):
        words |= _input(inputs, name, place)
    if where in (first, second):
        words |= _input(inputs, where, "input") | _input(inputs, second if where == first else first, "other")
    return words


def _input(inputs: Mapping[str, Any], name: str, place: str) -> dict[str, str]:
    declared = inputs[name]
    return {place: declared["name"], f"{place}_short": declared.get("short", declared["name"]),
            f"{place}_label": declared.get("label", name.upper())}


def fill(template: str, words: Mapping[str, str]) -> str:
    """``{name}`` replaced where ``words`` has it; anything else in braces stays as it is."""
    return PLACEHOLDER.sub(lambda m: words.get(m[1], m[0]), template)


def tail(spec: Spec, view: View, pair: Pair) -> str:
    """What follows the inputs in the user message: the notice of withheld inputs, then question and options."""
    pieces = []
    where, inputs = arm(spec, view), spec.data["inputs"]
    notice = text(spec, "notice")
    withheld = [name for name in pair_of(spec) if where and where != "both" and name != where]
    for name in withheld if notice else ():
        pieces.append(fill(notice, {"other": inputs[name]["name"], "withheld": ", ".join(pair.withheld.get(name, ()))}))
    if pair.question:
        said = "\n".join(f"{key}. {label}" for key, label in pair.options)
        pieces.append(fill(text(spec, "question"), {"question": pair.question, "options": said}).strip())
    return "\n\n".join(pieces)


def options(spec: Spec, pair: Pair) -> tuple[Option, ...]:
    """The alternatives of a choice, in the declared order; none for integers and sets."""
    if pair.options:
        return tuple(Option(key, key, label) for key, label in pair.options)
    return tuple(Option(v, v) for v in spec.data["answer"].get("values", ()))


def lines(spec: Spec, view: View, template: str, pair: Pair) -> list[dict[str, Any]]:
    """The closing block as the readout has to read it: fields in the demanded order (see ``Request.answer``)."""
    space = {k: v for k, v in spec.data["answer"].items() if k in ("space", "values", "members", "min")}
    if pair.options:
        space["values"] = [key for key, _ in pair.options]
    if template == "plain":
        label = spec.data["prompts"].get("plain_label", "ANSWER")
        return [{"label": label, "about": "answer", **space}]
    inputs, where = spec.data["inputs"], arm(spec, view)
    first, second = pair_of(spec)
    labels = {name: inputs[name].get("label", name.upper()) for name in (first, second)}
    answer = {"label": "ANSWER", "about": "answer", **space}
    if where == "both":
        return [answer, *({"label": f"{labels[name]}_ALONE", "about": name, **space} for name in (first, second))]
    other = second if where == first else first
    return [answer, {"label": f"WITH_{labels[other]}", "about": "both", **space},
            {"label": "SUFFICIENCY", "about": "sufficiency", "space": "choice", "values": list(SUFFICIENCY)}]
