"""Expands and builds the modality suites: every item in every view and template, one input withheld or none."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from . import prompts_paired as wording
from .datasets import pairs
from .datasets.paired import Pair, PairedSet
from .errors import DataError, KeyLookupError, near
from .probe import Instance, Part, Request, RequestKey, Truth, Variant, View
from .spec import Spec

VARIANT = "orig"


class PairedFamily:
    """One spec of the family ``paired``. The interface is that of ``harness.build.SpectraFamily``."""

    def __init__(self, spec: Spec):
        self.spec = spec
        self._drawn: dict[tuple[str, str], tuple[Part, ...]] = {}

    @cached_property
    def data(self) -> PairedSet:
        """The whole set, published, own or generated."""
        inputs = {name: declared["kind"] for name, declared in self.spec.data["inputs"].items()}
        return pairs.load(self.spec.dataset, self.spec.base, self.spec.seed, inputs, self.spec.data["answer"])

    @cached_property
    def _by_id(self) -> dict[str, Pair]:
        """Instance id -> item; a film's id stands for its first row, whose shared inputs are every row's."""
        out: dict[str, Pair] = {}
        for pair in self.data.items:
            out[pair.id] = pair
            if pair.once:
                out.setdefault(pair.cluster, pair)
        return out

    def keys(self, select: Any, sees_images: bool = True) -> Iterator[RequestKey]:
        """Keys with an empty model, views of one item next to each other; a shared view once a cluster."""
        views = select.shown(self.spec.views, sees_images)
        for task in self.spec.tasks:
            done: set[tuple[str, str]] = set()
            for pair in select.instances(self.data.items):
                for view in views:
                    name = self._instance(pair, view)
                    if (name, view.name) in done:
                        continue
                    done.add((name, view.name))
                    for template in view.style.get("templates", self.spec.templates):
                        yield RequestKey(self.spec.name, task.kind, name, VARIANT, view.name, template, 0, "")

    def _instance(self, pair: Pair, view: View) -> str:
        return pair.cluster if set(wording.given(self.spec, view)) <= pair.once else pair.id

    def build(self, key: RequestKey, model: Any) -> Request:
        """The request of one key.

        Raises:
            KeyLookupError: the key names nothing that this spec declares.
            DataError: a picture cannot be read.
        """
        view, pair = self.spec.view(key.view), self.find(key)
        self.spec.task(key.task)
        if key.template not in view.style.get("templates", self.spec.templates):
            raise KeyLookupError(f"{key}: view {view.name} has no template {key.template!r}"
                                 f"{near(key.template, view.style.get('templates', self.spec.templates))}")
        tail = wording.tail(self.spec, view, pair)
        fields = wording.lines(self.spec, view, key.template, pair)
        answer = {k: v for k, v in fields[0].items() if k not in ("label", "about")} | {"lines": fields}
        return Request(
            key=key, evidence=self._evidence(pair, wording.given(self.spec, view)), prompt=tail,
            question=pair.question or self._description(view, pair), options=wording.options(self.spec, pair),
            readout=self.spec.readout, system=wording.system(self.spec, view, key.template, pair.fields),
            answer=answer, sampling=self.spec.data.get("sampling", {}), truth=self._truth(pair, view))

    def _description(self, view: View, pair: Pair) -> str:
        declared = self.spec.data["prompts"]["description"]
        return wording.fill(declared if isinstance(declared, str) else declared[view.name], pair.fields)

    def _evidence(self, pair: Pair, supplied: tuple[str, ...]) -> tuple[Part, ...]:
        """The supplied inputs, pictures before text."""
        kinds = {name: self.spec.data["inputs"][name]["kind"] for name in supplied}
        ordered = sorted(supplied, key=lambda name: kinds[name] == "text")
        return tuple(part for name in ordered for part in self._parts(pair, name))

    def _parts(self, pair: Pair, name: str) -> tuple[Part, ...]:
        where = (pair.cluster if name in pair.once else pair.id, name)
        if where not in self._drawn:
            while len(self._drawn) >= 32:  # neighbours in the order of keys share their pictures
                self._drawn.pop(next(iter(self._drawn)))
            self._drawn[where] = tuple(
                Part(image=piece.image(), media_type="image/png") if piece.image else Part(text=piece.text)
                for piece in pair.inputs[name])
        return self._drawn[where]

    def _truth(self, pair: Pair, view: View) -> Truth:
        """What scripted models and tables need.

        ``arm`` says which inputs were supplied, ``answers`` what each arm supports where that is known by construction,
        ``sufficient`` whether an input settles the answer, ``golden`` the input with the annotated evidence, and
        ``shared`` that this generation stands for every row of its cluster.
        """
        first, second = wording.pair_of(self.spec)
        facts: dict[str, Any] = {k: v for k, v in pair.facts.items() if k not in ("alone",)}
        facts |= {
            "arm": wording.arm(self.spec, view),
            "inputs": [first, second],
            "simulated": self.data.kind == "simulated",
            "score": self.spec.data.get("score", "accuracy"),
            "once": sorted(pair.once),
            "shared": self._instance(pair, view) != pair.id,
        }
        if "alone" in pair.facts:
            facts["answers"] = {**pair.facts["alone"], "both": pair.expected}
        # what a program that reads the supplied evidence has to find; "" where no program could
        readable = "answers" in facts and self.data.readable
        facts["supports"] = facts["answers"].get(facts["arm"], "") if readable else ""
        return Truth(expected=pair.expected, cluster=pair.cluster, core=False, facts=facts)

    def _unfilled(self, pair: Pair) -> list[str]:
        """The first complaint about a placeholder that an item does not fill, if there is one."""
        for view in self.spec.views:
            for template in view.style.get("templates", self.spec.templates):
                try:
                    wording.system(self.spec, view, template, pair.fields)
                except DataError as error:
                    return [f"{error} (item {pair.id})"]
        return []

    def find(self, key: RequestKey) -> Pair:
        if key.instance not in self._by_id:
            raise KeyLookupError(f"{self.spec.name}: no instance {key.instance!r}{near(key.instance, self._by_id)}")
        return self._by_id[key.instance]

    @property
    def instances(self) -> dict[str, tuple[Instance, dict[str, Variant]]]:
        task = self.spec.tasks[0].kind
        return {p.id: (Instance(p.id, self.data.name, task, p.cluster, (), p.facts),
                       {VARIANT: Variant(VARIANT, p.id, "same", p.expected, True, p.facts)}) for p in self.data.items}

    def core_variants(self) -> set[tuple[str, str]]:
        """None: core variants are the same question in every view, and here a view takes evidence away."""
        return set()

    def check(self) -> list[str]:
        """Draw or decode every picture; one line on the source, then the defects of published labels.

        Raises:
            DataError: pictures that cannot be read and placeholders that an item does not fill, all of them together.
        """
        pictures, faults = 0, []
        for pair in self.data.items:
            faults += self._unfilled(pair)
            for name in pair.inputs:
                for piece in pair.inputs[name]:
                    if piece.image is None or (name in pair.once and pair is not self._by_id[pair.cluster]):
                        continue
                    pictures += 1
                    try:
                        piece.image()
                    except DataError as error:
                        faults.append(str(error))
        if faults:
            raise DataError("\n".join(faults[:12]))
        about = (f"{self.spec.name}: {len(self.data.items)} items of {self.data.name} ({self.data.kind}), "
                 f"{len({p.cluster for p in self.data.items})} clusters, {pictures} pictures")
        return [about, *(f"{self.spec.name}: {note}" for note in self.data.notes)]
