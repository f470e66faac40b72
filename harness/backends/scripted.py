"""Responders with a planted behaviour: the controls for the harness and its statistics.

A scripted model reads ``request.truth``, which no real model sees, and errs in one declared way. What it does with a
request follows from a hash of its seed and the request key (without the model's name), so that neither order, nor the
number of workers, nor other requests change it. Options of such a model in ``specs/models.yaml``:

    behaviour    a name in BEHAVIOURS
    rate         how often it shows that behaviour (0 to 1, default 1); otherwise it is right
    confidence   probability it gives its choice (default 0.9); the rest is spread evenly over the other options
    noise        half-width of a uniform disturbance of that probability (default 0)
    seed         default 0
    latency_s    waits that long before it answers (default 0); such a model is dispatched like a remote one
    attrition    {unparsed: p, truncated: p, error: p, repetition: p}: shares of replies that are lost in that way

and those that a behaviour names in its docstring. To plant another one, add a function and a line in BEHAVIOURS.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..errors import BackendError, near
from ..probe import ABSTAIN, Request, Response
from . import replies
from .base import Backend
from .config import ModelConfig
from .source import source_sha256

Draw = Callable[[str], float]
"""name -> a number in [0, 1) that only depends on the model's seed, the request key and that name."""
Behaviour = Callable[[Request, Mapping[str, Any], Draw], "str | Response"]
"""Returns the option key it decides for (or the canonical answer), or a whole reply."""


def first_position(request: Request, options: Mapping[str, Any], draw: Draw) -> str:
    """Decides for what comes first: in the evidence where the truth knows it, else in the list of options."""
    return request.truth.first or request.options[0].key


def last_position(request: Request, options: Mapping[str, Any], draw: Draw) -> str:
    """Decides for the last option listed."""
    return request.options[-1].key


def wavelength_order(request: Request, options: Mapping[str, Any], draw: Draw) -> str:
    """Reads energy evidence as if it ran along the wavelength: right on wavelength views, reversed on eV views.

    It goes by the order of rows (or of the axis), so a table by descending energy, which runs along the wavelength, is
    read correctly; and it is only misled by questions worded in wavelengths.
    """
    truth = request.truth
    view = request.key.view
    energy = truth.facts.get("unit") == "eV" or "ev" in view.lower().split("_")
    descending = truth.facts.get("order") == "descending" or view.lower().endswith("_desc")
    if not energy or descending or truth.facts.get("wording", "wavelength") == "energy":
        return truth.expected
    ordered = [o.key for o in request.options if o.key != ABSTAIN]
    if request.key.task == "specification" or truth.expected not in ordered:
        return truth.expected
    ordered.sort()  # the mirrored place must not depend on the order in which this variant lists the options
    return ordered[-1 - ordered.index(truth.expected)]


def visible_extremum(request: Request, options: Mapping[str, Any], draw: Draw) -> str:
    """Never misses what is not there: after an inside cut it picks the visible extremum, else it is right."""
    return request.truth.decoy if _cut(request) == "inside" and request.truth.decoy else request.truth.expected


def decoy(request: Request, options: Mapping[str, Any], draw: Draw) -> str:
    """Picks the known decoy wherever there is one."""
    return request.truth.decoy or request.truth.expected


def abstain_on_any_truncation(request: Request, options: Mapping[str, Any], draw: Draw) -> str:
    """Says 'cannot be determined' as soon as any of the evidence is cut away, needed or not."""
    offered = any(o.key == ABSTAIN for o in request.options)
    return ABSTAIN if offered and _cut(request) in ("inside", "outside") else request.truth.expected


def never_abstain(request: Request, options: Mapping[str, Any], draw: Draw) -> str:
    """Right where there is an answer; otherwise guesses among the substantive options."""
    if request.truth.expected != ABSTAIN:
        return request.truth.expected
    return _pick([o.key for o in request.options if o.key != ABSTAIN], draw)


def always_abstain(request: Request, options: Mapping[str, Any], draw: Draw) -> str:
    """Says 'cannot be determined' wherever it is offered."""
    return ABSTAIN if any(o.key == ABSTAIN for o in request.options) else request.truth.expected


def label_follower(request: Request, options: Mapping[str, Any], draw: Draw) -> str:
    """Goes by the names of options and not by their descriptions: misled where the two are in conflict."""
    if request.truth.facts.get("probe") != "conflicting_labels":
        return request.truth.expected
    shifted = [o.key for o in request.options if o.key != ABSTAIN]
    if request.truth.expected not in shifted:
        return request.truth.expected
    return shifted[shifted.index(request.truth.expected) - 1]  # the option that carries the right one's name


def misled_by(request: Request, options: Mapping[str, Any], draw: Draw) -> str:
    """Right unless the request is the interface probe named by ``probe``; then it picks the first other option."""
    if request.truth.facts.get("probe") != options.get("probe"):
        return request.truth.expected
    return next(o.key for o in request.options if o.key != request.truth.expected)


def coin(request: Request, options: Mapping[str, Any], draw: Draw) -> str:
    """Uniform over the options: chance level."""
    return _pick([o.key for o in request.options], draw)


def accuracy(request: Request, options: Mapping[str, Any], draw: Draw) -> str:
    """Right with probability ``p``; else uniform over the other options.

    ``p_view``, ``p_modality`` and ``p_task`` are maps that override ``p`` by the request's view, the modality of its
    evidence (``table`` or ``plot``) or its task; the view goes before the modality, the modality before the task.
    ``per_instance: true`` draws once for an instance instead of once for a request, which makes its rows dependent.
    """
    key = request.key
    p = options.get("p", 1.0)
    modality = "plot" if request.images else "table"
    for name, value in (("p_task", key.task), ("p_modality", modality), ("p_view", key.view)):
        p = options.get(name, {}).get(value, p)
    if draw(f"right {key.instance}" if options.get("per_instance") else "right") < p:
        return request.truth.expected
    return _pick([o.key for o in request.options if o.key != request.truth.expected], draw)


BEHAVIOURS: dict[str, Behaviour | str] = {
    "accuracy": accuracy,
    "first_position": first_position,
    "last_position": last_position,
    "wavelength_order": wavelength_order,
    "visible_extremum": visible_extremum,
    "decoy": decoy,
    "abstain_on_any_truncation": abstain_on_any_truncation,
    "never_abstain": never_abstain,
    "always_abstain": always_abstain,
    "coin": coin,
    "label_follower": label_follower,
    "misled_by": misled_by,
    # of the modality suites
    "copy_answer": "harness.backends.self_knowledge:copy_answer",
    "ideal_self_knower": "harness.backends.self_knowledge:ideal_self_knower",
    "over_claimer": "harness.backends.self_knowledge:over_claimer",
    "under_claimer": "harness.backends.self_knowledge:under_claimer",
}
"""Name -> function, or "module:function" where it is loaded on first use."""


def _behaviour(config: ModelConfig) -> Behaviour:
    name = config.options.get("behaviour", "accuracy")
    if name not in BEHAVIOURS:
        raise BackendError(f"models.{config.name}.options.behaviour: {name!r} is unknown{near(name, BEHAVIOURS)}")
    found = BEHAVIOURS[name]
    return pkgutil.resolve_name(found) if isinstance(found, str) else found


class Scripted(Backend):
    """One planted behaviour behind the interface of a model."""

    def __init__(self, config: ModelConfig, meter: Any = None) -> None:
        super().__init__(config, meter)
        self.options = config.options
        self.latency_s = float(self.options.get("latency_s", 0.0))
        self.local = not self.latency_s
        self.behaviour = _behaviour(config)
        self._seed = hashlib.sha256(str(self.options.get("seed", 0)).encode())

    @classmethod
    def identity(cls, config: ModelConfig, request: Request) -> str:
        """The truth it reads, the key it draws by, and the code it runs."""
        truth = request.truth
        facts = json.dumps([truth.expected, truth.decoy, truth.first, dict(truth.facts)], sort_keys=True, default=str)
        return "\n".join((source_sha256("harness.backends.scripted", "harness.backends.replies",
                                        _behaviour(config).__module__), _place(request), facts))

    def answer(self, request: Request) -> Response:
        draw = self._draw(request)
        lost = self._lost(draw)
        if lost is not None:
            return lost
        shows = draw("rate") < self.options.get("rate", 1.0)
        said = self.behaviour(request, self.options, draw) if shows else request.truth.expected
        if isinstance(said, Response):
            return said
        return replies.decided(request, said, self._probabilities(request, said, draw))

    async def complete(self, request: Request) -> Response:
        if self.latency_s:
            await asyncio.sleep(self.latency_s)
        return replace(self.answer(request), latency_s=self.latency_s)

    def _draw(self, request: Request) -> Draw:
        place = _place(request)

        def draw(name: str) -> float:
            digest = self._seed.copy()
            digest.update(f"\0{name if name.startswith('right ') else f'{place} {name}'}".encode())
            return int.from_bytes(digest.digest()[:7], "big") / (1 << 56)

        return draw

    def _probabilities(self, request: Request, key: str, draw: Draw) -> dict[str, float]:
        others = [o.key for o in request.options if o.key != key]
        if not others:
            return {o.key: 1.0 for o in request.options}
        noise = self.options.get("noise", 0.0) * (2 * draw("noise") - 1)
        top = min(1.0, max(0.0, self.options.get("confidence", 0.9) + noise))
        top = max(top, 1 / len(request.options) + 1e-6)  # what it says must stay its most probable option
        rest = {k: (1 - top) / len(others) for k in others}
        return {o.key: rest.get(o.key, top) for o in request.options}

    def _lost(self, draw: Draw) -> Response | None:
        attrition = self.options.get("attrition", {})
        u, edge = draw("attrition"), 0.0
        for kind, share in attrition.items():
            edge += share
            if u < edge:
                if kind not in _LOST:
                    raise BackendError(f"models.{self.config.name}.options.attrition: {kind!r}{near(kind, _LOST)}")
                return _LOST[kind]
        return None


_LOST = {
    "unparsed": Response(text="I am not going to commit to any of these.", usage=replies.FREE),
    "truncated": Response(text="Let me look at every row in turn:", finish_reason="length", usage=replies.FREE),
    "repetition": Response(text="and and and and and and", finish_reason="repetition", usage=replies.FREE),
    "error": Response(error="scripted provider error", finish_reason="error", usage=replies.FREE),
}


def _place(request: Request) -> str:
    """The request key without the model: two models with one seed draw the same numbers."""
    k = request.key
    return f"{k.spec}/{k.task}/{k.instance}/{k.variant}/{k.view}/{k.template}/{k.repeat}"


def _cut(request: Request) -> str:
    return str(request.truth.facts.get("cut", ""))


def _pick(keys: list[str], draw: Draw) -> str:
    return keys[int(draw("pick") * len(keys))]
