"""Everything ``validate --deep`` finds about one spec, and what of it is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from ..backends.config import ModelConfig
from ..build import Selection
from ..spec import Spec
from .balance import Balance, balances
from .context import Longest, Ruler
from .duplicates import Likeness, contradictions, likenesses
from .leakage import Leak, cornered, leaks
from .survey import survey

SHOWN = 5
"""Examples of one kind of problem."""


@dataclass(frozen=True, slots=True)
class Findings:
    """One spec. ``problems`` are what makes the exit status 1; ``silent`` models declare no context."""

    spec: str
    requests: int
    right: int
    unread: int
    leaks: tuple[Leak, ...]
    balances: tuple[Balance, ...]
    likenesses: tuple[Likeness, ...]
    longest: tuple[Longest, ...]
    silent: tuple[str, ...]
    problems: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def check(spec: Spec, configs: Iterable[ModelConfig] = (), progress: Callable[[int], None] = lambda done: None,
          select: Selection | None = None) -> Findings:
    """Survey a spec and judge it.

    Args:
        progress: called with the number of requests done.
        select: a part of the requests; all when left out.

    Raises:
        DataError: the data cannot be used at all.
    """
    ruler, items = Ruler(spec, configs), []
    for item in survey(spec, ruler.see, select):
        items.append(item)
        progress(len(items))
    found = leaks(items)
    wrong = [i for i in items if i.verdict == "wrong"]
    twice = contradictions(items)
    problems = [f"the oracle fails on {i.key}: {i.said}; expected {i.expected}" for i in wrong[:SHOWN]]
    problems += _more(len(wrong), "requests on which the oracle fails")
    problems += [f"{a} and {b} ask the same and expect different answers" for a, b in twice[:SHOWN]]
    problems += _more(len(twice), "such pairs")
    problems += [f"task {leak.task}: {leak.feature} predicts {leak.target!r} in {leak.view}: {leak.accuracy:.0f} % "
                 f"against {leak.chance:.0f} % by chance (p = {leak.p:.4f})"
                 for leak in found if leak.verdict == "above chance" and leak.task == "scope"]
    alone = cornered(items)
    problems += [f"task scope: the interval of {len(alone)} instances leaves one possible answer, which needs no "
                 f"evidence; the first is {i.key.instance}: {i.span[0]:g}-{i.span[1]:g} nm" for i in alone[:1]]
    problems += [f"model {row.model}: {row.over} prompts are longer than its context of {row.context:,} tokens; the "
                 f"longest, {row.key}, has {'' if row.exact else 'about '}{row.tokens:,}"
                 for row in ruler.longest if row.too_long]
    problems += [f"{i.key} shows the id of its instance" for i in [i for i in items if i.names_itself][:1]]
    alike = likenesses(spec, {i.key.instance for i in items})
    return Findings(spec.name, len(items), sum(i.verdict == "right" for i in items),
                    sum(i.verdict == "unread" for i in items), tuple(found), tuple(balances(items)), tuple(alike),
                    tuple(ruler.longest), tuple(ruler.silent), tuple(problems))


def _more(count: int, what: str) -> list[str]:
    return [f"... {count} {what} in all"] if count > SHOWN else []
