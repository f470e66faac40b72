"""From declarations to requests: ``expand(spec)`` lists keys without touching data, ``build(key)`` makes one request.

Keys depend on the specs, the models' modalities and the command line alone, so every process lists the same ones in the
same order. A request is built when its turn comes; rendered evidence is kept for the neighbours that share it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from . import datasets, prompts, tasks, variants
from .datasets.clean import CleanRule, clean
from .errors import DataError, KeyLookupError, Problem, SpecError, near
from .probe import Instance, Part, Request, RequestKey, Truth, Variant, View
from .render import renderer
from .spec import Spec, TaskSpec, excluded, load
from .spectrum import AXIS_UNITS, Spectrum
from .tasks.pool import Pool
from .tasks.reversed_rule import reversed_answer
from .variants import interface

NAMES = ("A", "B", "C")
ALL = "all"
"""As a view's name on the command line: every view, optional ones too."""
FAMILIES = {"spectra": "harness.build:SpectraFamily", "paired": "harness.build_paired:PairedFamily"}
"""Family of a spec -> the class that expands and builds it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One model as far as building is concerned: its name, whether it sees images, and its readout of a suite's."""

    name: str
    sees_images: bool = True
    readout: str = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """What the command line narrows.

    Attributes:
        views: names of views; None asks all that are not optional.
        limit: first instances of every task, each whole, so that paired comparisons stay paired.
        repeat: how often every request is asked.
        shard: ``(i, n)``: every n-th instance of a task from the i-th on, counted from 1.
    """

    views: tuple[str, ...] | None = None
    limit: int | None = None
    repeat: int = 1
    shard: tuple[int, int] | None = None

    def shown(self, views: Iterable[View], sees_images: bool) -> list[View]:
        """Those of a spec's views that are asked, in declared order."""
        return [v for v in views if (sees_images or not v.has_image)
                and (not v.optional if self.views is None else v.name in self.views or ALL in self.views)]

    def instances(self, planned: Sequence) -> Sequence:
        """The instances of one task that are asked."""
        chosen = planned[: self.limit]
        return chosen if self.shard is None else chosen[self.shard[0] - 1 :: self.shard[1]]


def family(spec: Spec) -> Any:
    """The builder of a spec, one for each process and spec."""
    return _family(FAMILIES[spec.family], _Box(spec))


class Builder:
    """Builds the request of a key of any of several specs, as its model is asked; travels to other processes.

    Args:
        specs, models: by name; of a model ``name``, ``sees_images`` and ``readout_for`` are used.
    """

    def __init__(self, specs: Mapping[str, Spec], models: Mapping[str, Any]):
        self.specs, self.models = specs, models
        self._families: dict[str, Any] = {}

    def __call__(self, key: RequestKey) -> Request:
        model = self.models[key.model]  # its own readout where it has one: the same decision, elicited another way
        readout = model.readout_for(self.specs[key.spec].readout)
        return self.family(key.spec).build(key, Asked(model.name, model.sees_images, readout))

    def family(self, name: str) -> Any:
        """The builder of the spec of that name; looking it up by content costs more than building a request."""
        if name not in self._families:
            self._families[name] = family(self.specs[name])
        return self._families[name]

    def __reduce__(self) -> tuple[Any, ...]:
        return Builder, (self.specs, self.models)


@dataclass(frozen=True, eq=False)
class _Box:
    """Lets a spec, which holds mappings, be a cache key: by content."""

    spec: Spec

    def __hash__(self) -> int:
        return hash(self.spec.sha256)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Box) and (self.spec.sha256, self.spec.base) == (other.spec.sha256, other.spec.base)


@lru_cache(maxsize=64)
def _family(target: str, box: _Box) -> Any:
    module, name = target.split(":")
    return getattr(import_module(module), name)(box.spec)


def expand(specs: Iterable[Spec], models: Sequence[Asked], select: Selection) -> Iterator[RequestKey]:
    """Keys of all requests, in an order that puts requests of shared evidence next to each other.

    Raises:
        SpecError: a selected view that no spec declares.
    """
    specs = tuple(specs)
    known_views(specs, select)
    for model in models:
        for spec in specs:
            for key in family(spec).keys(select, model.sees_images):
                for repeat in range(select.repeat):
                    yield replace(key, repeat=repeat, model=model.name)


def known_views(specs: Iterable[Spec], select: Selection) -> None:
    """Complain about selected views that no spec declares."""
    known = sorted({v.name for s in specs for v in s.views})
    problems = [Problem("--views", 0, "", f"{name!r} is not a view of the selected specs{near(name, known)}")
                for name in select.views or () if name not in known and name != ALL]
    if problems:
        raise SpecError(problems)


class SpectraFamily:
    """Builds the optics suites of one spec."""

    def __init__(self, spec: Spec):
        self.spec = spec

    def plan(self, task: TaskSpec) -> list[tuple[str, tuple[Variant, ...]]]:
        return list(tasks.task(task.kind).plan(task))

    def keys(self, select: Selection, sees_images: bool = True) -> Iterator[RequestKey]:
        """Keys with an empty model, evidence-sharing ones next to each other."""
        views = select.shown(self.spec.views, sees_images)
        for task in self.spec.tasks:
            for instance, planned in select.instances(self.plan(task)):
                for view in views:
                    for v in planned:
                        if shows(v, view):
                            yield RequestKey(self.spec.name, task.kind, instance, v.id, view.name, "plain", 0, "")
                            for probe in self._probes(task, v, view):
                                name = f"{v.id}{interface.SEPARATOR}{probe}"
                                yield RequestKey(self.spec.name, task.kind, instance, name, view.name, "plain", 0, "")

    def _probes(self, task: TaskSpec, variant: Variant, view: View) -> Iterator[str]:
        """Suffixes of the declared interface probes of one variant in one view."""
        kinds = self.spec.data.get("interface", ())
        views = self.spec.data.get("interface_views", (self.spec.views[0].name,))
        if kinds and variant.core and view.name in views:
            yield from interface.probes(kinds, variant, view, tasks.option_count(task), tuple(task.questions))

    @cached_property
    def data(self) -> datasets.SpectraSet:
        """The whole dataset, measured or simulated."""
        return datasets.load(self.spec.dataset, self.spec.base)

    @cached_property
    def instances(self) -> dict[str, tuple[Instance, dict[str, Variant]]]:
        """Instance id -> the instance with its labelled variants.

        Raises:
            DataError: the data do not fill the declared counts; says which filter removed how many.
        """
        rule = CleanRule.from_mapping({**self.spec.data["clean"], "extremum": self.spec.data["extremum"]})
        with self._telling("clean"):
            result = clean(self._spectra(), rule)
        taken = {s.id for name in self.spec.exclude for s in self._structures(name)}
        kept = [s for s in result.kept if s.id not in taken]
        removed = {**result.removed, "exclude": len(result.kept) - len(kept)}
        pool = Pool(kept, self.spec.seed, self.spec.data["extremum"], self.spec.name, removed)
        drawn: dict[str, list[Instance]] = {}
        for task in sorted(self.spec.tasks, key=lambda t: tuple(tasks.TASKS).index(t.kind)):
            self._check_settings(task, kept)
            with self._telling("tasks", task.kind):
                drawn[task.kind] = tasks.task(task.kind).draw(task, pool)
        out: dict[str, tuple[Instance, dict[str, Variant]]] = {}
        for task in self.spec.tasks:
            planned = dict(self.plan(task))
            for instance in drawn[task.kind]:
                labelled = tasks.task(task.kind).label(task, instance, planned[instance.id])
                out[instance.id] = (instance, {v.id: v for v in labelled})
        return out

    @contextmanager
    def _telling(self, *path: str) -> Iterator[None]:
        """Says of an error in the data which part of the declaration they do not fit."""
        try:
            yield
        except DataError as error:
            raise DataError(f"{self.spec.place(*path)}: {error}") from None

    def _check_settings(self, task: TaskSpec, kept: Sequence[Spectrum]) -> None:
        """Complain about wavelengths that no spectrum reaches: most often they are not in nm, as all declarations are."""
        if not kept:
            return
        low, high = (float(nm) for nm in kept[0].wavelength_nm[[0, -1]])
        spans = [(("thresholds_nm", i), nm, nm) for i, nm in enumerate(task.get("thresholds_nm", ()))]
        spans += [((name, i), *ends) for name in ("windows_nm", "intervals_nm") for i, ends in enumerate(task.get(name, ()))]
        spans += [(("bands_nm",), bands[0], bands[-1]) for bands in [task.get("bands_nm")] if bands]
        for path, first, last in spans:
            if last <= low or first >= high:
                said = f"{first:g} nm lies" if first == last else f"{first:g} to {last:g} nm lie"
                raise DataError(f"{self.spec.place('tasks', task.kind, *path)}: {said} outside the spectra, which run from "
                                f"{low:g} to {high:g} nm; give nm, whatever the unit of a table")

    def core_variants(self) -> set[tuple[str, str]]:
        """(instance, variant) of every variant that exists in every core view."""
        return {(name, v.id) for task in self.spec.tasks for name, planned in self.plan(task) for v in planned if v.core}

    def check(self) -> list[str]:
        """Draw every instance, and say in words where the evidence comes from.

        Raises:
            DataError: see :attr:`instances`.
        """
        used = len(self.structures)
        return [f"{self.spec.name}: {self.data.name} ({self.data.kind}), {used} of {len(self.data.spectra)} spectra used"]

    @property
    def structures(self) -> set[str]:
        """Ids of the structures or syntheses that any instance of this spec uses."""
        return {s.id for instance, _ in self.instances.values() for s in instance.evidence}

    def build(self, key: RequestKey, model: Asked) -> Request:
        """The request of one key.

        Raises:
            KeyLookupError: the key names nothing that this spec declares.
        """
        task, view = self.spec.task(key.task), self.spec.view(key.view)
        instance, variant = self.find(key)
        base, _, probe = key.variant.partition(interface.SEPARATOR)
        text, parts = self._evidence(instance.id, variant.id, interface.shown_view(probe, view))
        truth = self._truth(instance, variant, task, view)
        if probe:
            truth = replace(truth, relation="same", core=False,
                            facts={**truth.facts, "probe": interface.kind_of(probe), "base": base})
        readout = model.readout or self.spec.readout
        question, options = prompts.question(task, variant, view), prompts.options(task, variant, view)
        evidence = (*parts, text)
        if not probe:
            return Request(key, evidence, question, options, readout, prompts.ask(question, options, readout),
                           truth=truth)
        plain = Request(key, evidence, question, options, readout, "", truth=truth)
        changed = replace(plain, options=interface.present(probe, options),
                          **prompts.probe_wording(probe, plain, task, variant, view))
        return replace(changed, prompt=prompts.compose(changed))

    def _truth(self, instance: Instance, variant: Variant, task: TaskSpec, view: View) -> Truth:
        """What holds of a variant; worked out once for all views, which add their unit and order."""
        facts = self._facts.get((instance.id, variant.id))
        if facts is None:
            facts = {k: v for k, v in variant.facts.items() if k in ("wording", "direction", "cut", "deletion")}
            facts |= {"simulated": self.data.kind == "simulated",
                      **_reversed(task, instance, variant, self.spec.data["extremum"]), **_shading(variant)}
            self._facts[instance.id, variant.id] = facts
        return Truth(
            expected=variant.expected, relation=variant.relation, core=variant.core, cluster=instance.id,
            decoy=variant.facts.get("decoy", ""), first=variant.facts.get("first", ""),
            facts={**facts, "unit": view.unit, "order": view.order})

    @cached_property
    def _facts(self) -> dict[tuple[str, str], dict[str, Any]]:
        return {}

    def find(self, key: RequestKey) -> tuple[Instance, Variant]:
        if key.instance not in self.instances:
            raise KeyLookupError(f"{self.spec.name}: no instance {key.instance!r}{near(key.instance, self.instances)}")
        instance, by_id = self.instances[key.instance]
        name = key.variant.partition(interface.SEPARATOR)[0]
        if name not in by_id:
            raise KeyLookupError(f"{key.instance}: no variant {key.variant!r}{near(key.variant, by_id)}")
        return instance, by_id[name]

    def _spectra(self) -> tuple[Spectrum, ...]:
        """The dataset under the name that the evidence gives its response."""
        quantity = self.spec.data["evidence"].get("response")
        return tuple(replace(s, quantity=quantity) for s in self.data.spectra) if quantity else self.data.spectra

    def _structures(self, name: str) -> Iterable[Spectrum]:
        other = family(load(excluded(name, self.spec.base / Path(self.spec.file).name)))
        return [s for instance, _ in other.instances.values() for s in instance.evidence]

    def _evidence(self, instance_id: str, variant_id: str, view: View) -> tuple[Part, tuple[Part, ...]]:
        """Text and images; neighbours in the order of keys share evidence, so a short memory is enough."""
        instance, by_id = self.instances[instance_id]
        variant = by_id[variant_id]
        facts = variant.facts
        shown = (instance_id, facts.get("order"), facts.get("remove_nm"), facts.get("keep_nm"))
        return self._recent((view.name, view.kind, shown), lambda: self._render(
            self._recent(shown, lambda: variants.evidence(instance, variant)), view))

    def _recent(self, name: tuple, make: Callable[[], Any]) -> Any:
        """What was made under a name a short while ago, or is made now."""
        if name not in self._memory:
            made = make()
            while len(self._memory) >= 128:
                self._memory.pop(next(iter(self._memory)))
            self._memory[name] = made
        return self._memory[name]

    @cached_property
    def _memory(self) -> dict[tuple, Any]:
        return {}

    def _render(self, spectra: tuple[Spectrum, ...], view: View) -> tuple[Part, tuple[Part, ...]]:
        if self.spec.data["evidence"].get("transform") == "transmission":
            spectra = tuple(replace(s, response=10.0 ** -s.response) for s in spectra)  # appendix D; order unchanged
        shown = renderer(view.kind)(spectra, NAMES[: len(spectra)], view)
        pieces = [prompts.context(self.spec), prompts.introduction(self.spec, view, len(spectra))]
        if view.has_image:
            return Part(text="\n\n".join(pieces)), (Part(image=shown, media_type="image/png"),)
        return Part(text="\n\n".join([*pieces, shown])), ()


def shows(variant: Variant, view: View) -> bool:
    """Energy-worded probes exist only where the evidence shows an energy axis; all other variants in every view."""
    return variant.facts.get("wording") != "energy" or AXIS_UNITS[view.unit].descending


def _reversed(task: TaskSpec, instance: Instance, variant: Variant, extremum: str) -> Mapping[str, str]:
    """What a reader would answer who takes the other extremum, where there is such an answer."""
    answer = reversed_answer(task, instance, variant, extremum)
    return {"reversed": answer} if answer else {}


def _shading(variant: Variant) -> Mapping[str, Any]:
    """What a report may shade for its reader: the queried interval and the removed part, nm."""
    return {k: list(variant.facts[k]) for k in ("span_nm", "remove_nm", "keep_nm", "window_nm") if variant.facts.get(k)}


