"""What a schema cannot say of a paired family: names that must fit each other, and placeholders that must exist."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from .errors import Problem, near
from .yamlfile import YamlFile

PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")
WORDS = ("description", "form", "input", "other", "other_short", "other_label", "input_short", "input_label", "first",
         "second", "first_short", "second_short", "first_label", "second_label")
"""Placeholders of system messages in every family."""
ITEM_WORDS = {"graph_maxflow": ("source", "sink", "source_color", "sink_color"),
              "maxflow": ("source", "sink", "source_color", "sink_color")}
TAIL_WORDS = {"notice": ("other", "withheld"), "question": ("question", "options")}


def check(file: YamlFile) -> Iterator[Problem]:
    """Problems of a file that fits the schema."""
    data = file.data
    inputs, views, answer, prompts = (data[k] for k in ("inputs", "views", "answer", "prompts"))
    needs = {"choice": "values", "set": "members"}.get(answer["space"])
    if needs and needs not in answer:
        yield file.problem(("answer",), f"{needs!r} is missing; a {answer['space']} needs it")
    suits = {"sample_f1": "set", "macro_f1": "choice"}.get(data.get("score", ""), answer["space"])
    if suits != answer["space"]:
        yield file.problem(("score",), f"{data['score']!r} is for answers of the space {suits!r}, not {answer['space']!r}")
    dataset = data["dataset"]
    if ("name" in dataset) == ("jsonl" in dataset):
        yield file.problem(("dataset",), "either 'name' or 'jsonl' must say where the items come from")
    for key in set(dataset) - {"jsonl", "n"} if "jsonl" in dataset and "name" not in dataset else ():
        yield file.problem(("dataset", key), "says nothing of a file of your own; remove it")
    if dataset.get("name") == "isobench" and "subset" not in dataset:
        yield file.problem(("dataset",), "'subset' is missing; valid: math_parity, graph_maxflow")
    first, second = list(inputs)[:2]
    labels = [inputs[name].get("label", name.upper()) for name in (first, second)]
    if labels[0] == labels[1]:
        yield file.problem(("inputs", second, "label"), f"{labels[1]!r} is the label of {first!r} too; labels must differ")
    for name, view in views.items():
        unknown = [(i, given) for i, given in enumerate(view.get("given", ())) if given not in inputs]
        for i, given in unknown:
            yield file.problem(("views", name, "given", i), f"{given!r} is not an input{near(given, inputs)}")
        supplied = view.get("given", [name] if name in inputs else [first, second])
        shown = {inputs[given]["kind"] for given in supplied if given in inputs}
        if not unknown and ("image" in shown) != (view["kind"] != "text"):  # a model without eyes is asked by kind
            kinds = ", ".join(f"{given} ({inputs[given]['kind']})" for given in supplied)
            yield file.problem(("views", name, "kind"), f"{view['kind']!r} does not fit what the view supplies: {kinds}")
    description = prompts["description"]
    texts: dict[tuple[str, ...], str] = {("prompts", "description"): description} if isinstance(description, str) else {
        ("prompts", "description", view): text for view, text in description.items()}
    if isinstance(description, Mapping):
        for view in views:
            if view not in description:
                yield file.problem(("prompts", "description"), f"no text for the view {view!r}")
        for view in description:
            if view not in views:
                yield file.problem(("prompts", "description", view), f"{view!r} is not a view{near(view, views)}")
    texts |= {("prompts", k): prompts[k] for k in ("plain", "joint", "single", "notice", "question") if k in prompts}
    item = ITEM_WORDS.get(dataset.get("subset", dataset.get("name", "")), ())
    for path, text in texts.items():
        known = TAIL_WORDS.get(path[-1], (*WORDS, *item))
        for word in PLACEHOLDER.findall(text):
            # a user's own file may offer any column, which only the data can tell
            if word not in known and ("jsonl" not in dataset or path[-1] in TAIL_WORDS):
                yield file.problem(path, f"{{{word}}} is not a placeholder{near(word, known)}")
