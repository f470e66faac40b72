"""What is asked: instances, their variants and views, and the request that one model receives.

The words are the papers'. An *instance* is one original task on one piece of evidence and is the bootstrap unit
together with its *cluster*; a *variant* changes its question or evidence in one way; a *view* shows the evidence in
one representation; a *request* is one variant in one view for one model, and is one pytest item.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, Literal, TypeVar

Relation = Literal["same", "flip", "abstain"]
"""How the right answer of a variant relates to the original's: unchanged, reversed, or no longer determined."""

ABSTAIN = "undetermined"
"""Option key of 'cannot be determined' in every task that offers it."""


_C = TypeVar("_C", bound=type)


def _travels(cls: _C) -> _C:
    """Pickled as its constructor's arguments, and its hash where it has one: a third of the time of dataclasses' own way.

    Requests and responses pass between processes, hundreds a second.
    """
    values = attrgetter(*(f.name for f in fields(cls) if f.init))

    def reduced(self: Any) -> tuple[Any, ...]:
        return cls, values(self)

    def reduced_with_hash(self: Any) -> tuple[Any, ...]:
        return _made, (cls, values(self), self._sha256)

    setattr(cls, "__reduce__", reduced_with_hash if "_sha256" in cls.__dict__ else reduced)  # noqa: B010
    return cls


def _made(cls: type, values: tuple[Any, ...], sha256: str) -> Any:
    made = cls(*values)
    object.__setattr__(made, "_sha256", sha256)
    return made


@_travels
@dataclass(frozen=True, slots=True, order=True)
class RequestKey:
    """Names one request. Its string is the pytest id and the key of every join; ``model`` comes last and may hold '/'."""

    spec: str
    task: str
    instance: str
    variant: str
    view: str
    template: str
    repeat: int
    model: str

    def __str__(self) -> str:
        return (f"{self.spec}/{self.task}/{self.instance}/{self.variant}/{self.view}/{self.template}/{self.repeat}/"
                f"{self.model}")

    @classmethod
    def parse(cls, text: str) -> RequestKey:
        """Inverse of ``str``. Raises ValueError when a field is missing or repeat is no integer."""
        parts = text.split("/", 7)
        if len(parts) != 8:
            raise ValueError(f"{text!r} is not spec/task/instance/variant/view/template/repeat/model")
        spec, task, instance, variant, view, template, repeat, model = parts
        return cls(spec, task, instance, variant, view, template, int(repeat), model)


@dataclass(frozen=True, slots=True)
class Instance:
    """One original task. ``evidence`` is what the renderer shows (spectra or paired inputs); ``facts`` feed the labels."""

    id: str
    dataset: str
    task: str
    cluster: str
    evidence: tuple[Any, ...]
    facts: Mapping[str, Any]


@_travels
@dataclass(frozen=True, slots=True)
class Option:
    """One alternative. ``key`` is the same in every view; ``label`` is what this view shows (ranges follow the unit)."""

    key: str
    label: str
    description: str = ""


def lettered(options: Sequence[Option]) -> dict[str, Option]:
    """Letter -> option: the labels themselves where all are single letters, else A, B, C ... in order."""
    labels = [o.label for o in options]
    if not all(len(n) == 1 and n.isascii() and n.isalpha() for n in labels):
        labels = [chr(ord("A") + i) for i in range(len(labels))]
    return dict(zip(labels, options, strict=True))


@dataclass(frozen=True, slots=True)
class Variant:
    """One change of an instance's question or evidence.

    Attributes:
        id: suffix of the instance id, e.g. ``orig-longer-wavelength``.
        instance: id of the instance.
        relation: to the original's answer.
        expected: key of the right option (canonical answer text where there are no options).
        core: exists in every view; energy-worded probes are not core.
        facts: what the question, the cuts and the tables need (wording, direction, cut, deletion, decoy, first, ...).
    """

    id: str
    instance: str
    relation: Relation
    expected: str
    core: bool
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class View:
    """One declared representation. ``style`` holds the renderer's settings as declared in the spec.

    ``range_format`` is how axis values stand in questions and options; an ``optional`` view is asked only when named.
    """

    name: str
    modality: Literal["table", "plot", "text", "image", "both"]
    kind: str
    unit: str = ""
    order: Literal["ascending", "descending", ""] = ""
    core: bool = True
    optional: bool = False
    range_format: str = ""
    style: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_image(self) -> bool:
        return self.modality in ("plot", "image", "both")


@_travels
@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a message: text, or the bytes of an image (``media_type`` such as ``image/png``)."""

    text: str = ""
    image: bytes = b""
    media_type: str = ""
    _sha256: str = field(default="", init=False, repr=False, compare=False)

    @property
    def sha256(self) -> str:
        if not self._sha256:  # neighbours share a piece of evidence, and each is stored, kept and hashed
            object.__setattr__(self, "_sha256", hashlib.sha256(self.image or self.text.encode()).hexdigest())
        return self._sha256


@_travels
@dataclass(frozen=True, slots=True)
class Truth:
    """What the harness knows and the model must not see; read by the oracle check, scripted models and the recorder.

    Attributes:
        expected: key of the right option, or the canonical answer.
        decoy: key of the option a known shortcut picks (visible extremum after an inside cut; the deep candidate
            outside the window), or "".
        first: key of the option that stands for the first piece of evidence, or "".
        facts: columns copied into the outcome (cut, deletion, wording, direction, ...); builtins only.
    """

    expected: str
    relation: Relation = "same"
    core: bool = True
    cluster: str = ""
    decoy: str = ""
    first: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


_canonical = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode


@_travels
@dataclass(frozen=True, slots=True)
class Request:
    """Exactly what one model is asked.

    Chat backends send ``system`` and then one user message: the evidence parts in order followed by ``prompt``.
    Decision backends send the evidence as state, ``question`` as instructions and ``options`` as the label map.
    ``answer`` describes what may come back: ``{"space": "choice"}``, ``{"space": "integer"}``,
    ``{"space": "set", "members": [...]}`` and, for labelled lines, ``"lines"``: a list of
    ``{"label": "ANSWER", "about": "answer", "space": ...}`` in the demanded order.
    ``truth`` never leaves the harness and is not part of ``sha256``.
    """

    key: RequestKey
    evidence: tuple[Part, ...]
    question: str
    options: tuple[Option, ...]
    readout: str
    prompt: str
    system: str = ""
    answer: Mapping[str, Any] = field(default_factory=lambda: {"space": "choice"})
    sampling: Mapping[str, Any] = field(default_factory=dict)
    companions: tuple[tuple[str, tuple[Option, ...]], ...] = ()  # further questions in the same request, not read
    truth: Truth = field(default_factory=lambda: Truth(""), compare=False)
    _sha256: str = field(default="", init=False, repr=False, compare=False)

    @property
    def evidence_text(self) -> str:
        """The text parts of the evidence, blank line between: the ``state`` of a decision API."""
        return "\n\n".join(p.text for p in self.evidence if p.text)

    @property
    def images(self) -> tuple[Part, ...]:
        return tuple(p for p in self.evidence if p.image)

    @property
    def text(self) -> str:
        """All the text of the user message, evidence before question."""
        return "\n\n".join(t for t in (self.evidence_text, self.prompt) if t)

    @property
    def letters(self) -> dict[str, str]:
        """Letter -> option key, see :func:`lettered`."""
        return {letter: o.key for letter, o in lettered(self.options).items()}

    def content(self) -> dict[str, Any]:
        """What determines a reply on the side of the prompt, JSON-ready, images by hash; without the key."""
        return {
            "system": self.system,
            "evidence": [{"image": p.sha256} if p.image else {"text": p.text} for p in self.evidence],
            "question": self.question,
            "options": [[o.key, o.label, o.description] for o in self.options],
            "readout": self.readout,
            "prompt": self.prompt,
            "answer": self.answer,
            "sampling": self.sampling,
            **({"companions": [[q, [[o.key, o.label, o.description] for o in opts]] for q, opts in self.companions]}
               if self.companions else {}),
        }

    @property
    def sha256(self) -> str:
        """Hash of :meth:`content`: two requests with the same hash ask the same thing, byte for byte."""
        if not self._sha256:  # asked for several times a request, and the images are large
            object.__setattr__(self, "_sha256", hashlib.sha256(_canonical(self.content()).encode()).hexdigest())
        return self._sha256


@_travels
@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and money of one reply; None where the server did not say."""

    tokens_in: int | None = None
    tokens_cached: int | None = None
    tokens_out: int | None = None
    tokens_reasoning: int | None = None
    cost_usd: float | None = None


@_travels
@dataclass(frozen=True, slots=True)
class Response:
    """What came back, before anything reads it.

    Attributes:
        text: the reply, with reasoning put back inline (``<think>...</think>``) where it came separately.
        option_scores: option key -> log-probability (log-softmax not required), or empty when there are none.
        scores_are: ``probabilities`` or ``logprobs`` - the scale of ``option_scores``.
        label_mass: share of the full next-token probability that the options hold, or None.
        finish_reason: ``stop``, ``length``, ``repetition``, ``content_filter``, ``error``, ...
        error: why there is no answer, or "".
    """

    text: str = ""
    choice: str = ""
    option_scores: Mapping[str, float] = field(default_factory=dict)
    scores_are: Literal["probabilities", "logprobs"] = "logprobs"
    label_mass: float | None = None
    finish_reason: str = "stop"
    usage: Usage = Usage()
    provider: str = ""
    served_model: str = ""
    generation_id: str = ""
    latency_s: float | None = None
    tries: int = 1
    error: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Claim:
    """One stated counterfactual: the answer the model says it would give about ``about`` (a view, or 'sufficiency')."""

    about: str
    answer: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply said.

    Attributes:
        choice: option key or canonical answer text, None when it did not parse.
        probabilities: option key -> probability, summing to 1, or empty when unavailable (never zeros).
        claims: the stated counterfactuals that parsed.
        missing: fields that the prompt demanded and that did not parse (``answer``, a label, ...).
        near_misses: how the missing ones were miswritten, by kind, e.g. ``bare_value``, ``label_prose``.
        notes: further facts to record, e.g. ``{"argmax_differs": True}``.
    """

    choice: str | None
    probabilities: Mapping[str, float] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    missing: tuple[str, ...] = ()
    near_misses: tuple[str, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)
