"""Builds every request of a spec once, has the oracle answer it, and keeps what the other checks need of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..build import ALL, Asked, Selection, family
from ..errors import DataError
from ..oracle import paired as paired_oracle
from ..oracle.answer import answer as spectra_oracle
from ..probe import ABSTAIN, Request, RequestKey, Response
from ..spec import Spec
from .features import surface

Verdict = Literal["right", "wrong", "unread"]


@dataclass(frozen=True, slots=True)
class Item:
    """One request, without its evidence.

    Attributes:
        group: what is resampled and permuted as a whole: the cluster.
        options: keys in displayed order.
        span: queried interval, nm, or ().
        sufficient: whether the supplied input settles the answer; None where that is not known or not asked.
        members: of an answer that is a set; () for choices and integers.
        features: name -> values, see :mod:`harness.deep.features`.
        verdict: of the oracle; ``unread`` where no program can know (the reason is in ``said``).
    """

    key: RequestKey
    group: str
    expected: str
    options: tuple[str, ...]
    features: Mapping[str, tuple[float | str, ...]]
    sha256: str
    cut: str = ""
    deletion: str = ""
    relation: str = ""
    arm: str = ""
    span: tuple[float, ...] = ()
    sufficient: bool | None = None
    members: tuple[str, ...] = ()
    shared: bool = False
    probe: bool = False
    names_itself: bool = False
    verdict: Verdict = "right"
    said: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def unit(self) -> tuple[str, str]:
        """What every view shows again."""
        return self.key.instance, self.key.variant

    @property
    def abstains(self) -> bool:
        """Whether its options allow 'cannot be determined'."""
        return ABSTAIN in self.options


def survey(spec: Spec, see: Callable[[Request], None] = lambda request: None, select: Selection | None = None
           ) -> Iterator[Item]:
    """Every request of a spec, optional views too. ``see`` is shown each one while it is whole.

    Raises:
        DataError: the data cannot fill the declared counts, or a picture cannot be read.
    """
    built = family(spec)
    for key in built.keys(select or Selection(views=(ALL,))):
        request = built.build(key, Asked("deep"))
        see(request)
        yield look(spec, request)


def look(spec: Spec, request: Request) -> Item:
    """One request as an item, answered by the oracle."""
    facts = request.truth.facts
    verdict, said = (paired_verdict if spec.family == "paired" else spectra_verdict)(request)
    arm = facts.get("arm", "")
    return Item(
        key=request.key, group=request.truth.cluster or request.key.instance, expected=request.truth.expected,
        options=tuple(o.key for o in request.options), features=surface(request), sha256=request.sha256,
        cut=facts.get("cut", ""), deletion=facts.get("deletion", ""), relation=request.truth.relation, arm=arm,
        span=tuple(facts.get("span_nm", ())), sufficient=facts.get("sufficient", {}).get(arm),
        members=tuple(request.answer.get("members", ())), shared=bool(facts.get("shared")), probe="probe" in facts,
        names_itself=request.key.instance in f"{request.system}\n{request.text}", verdict=verdict, said=said,
        facts={"regime": facts["regime"]} if "regime" in facts else {})


def spectra_verdict(request: Request) -> tuple[Verdict, str]:
    """The oracle's answer against the label."""
    try:
        said = spectra_oracle(request)
    except DataError as error:
        return "wrong", str(error).partition(": ")[2]
    return ("right", said) if said == request.truth.expected else ("wrong", said)


def paired_verdict(request: Request) -> tuple[Verdict, str]:
    """The oracle's reply against what each set of inputs supports by construction.

    Answers of sets that no program can read, and what restoring an input would change, are not judged.
    """
    facts = request.truth.facts
    if not facts.get("supports"):
        return "unread", "what this input supports is not known by construction"
    try:
        said = paired_oracle.answer(request)
    except DataError as error:
        return "wrong", str(error)
    if isinstance(said, Response):
        return "wrong", said.error
    right = {"answer": facts["supports"]}
    if facts["arm"] == "both":
        right |= {name: facts["answers"][name] for name in facts["inputs"]}
    elif facts["arm"] in facts.get("sufficient", {}):
        right["sufficiency"] = "SUFFICIENT" if facts["sufficient"][facts["arm"]] else "INSUFFICIENT"
    asked = {line["about"] for line in request.answer["lines"]}
    wrong = [f"{about}: {said[about]}, not {value}" for about, value in right.items() if about in asked
             and said[about] != value]
    return ("wrong", "; ".join(wrong)) if wrong else ("right", said["answer"])
