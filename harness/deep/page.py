"""The findings of ``validate --deep`` as text."""

from __future__ import annotations

from collections.abc import Iterator

from tabulate import tabulate

from .check import Findings
from .duplicates import NEAR, USUAL
from .leakage import Leak


def text(found: Findings) -> str:
    """All tables of one spec, problems last."""
    return "\n\n".join(block for block in _blocks(found) if block)


def _blocks(found: Findings) -> Iterator[str]:
    read = found.requests - found.unread
    yield f"== {found.spec}: the oracle is right on {found.right:,} of {read:,} requests" + (
        f"; {found.unread:,} more are of a kind that no program reads" if found.unread else "")
    yield "Do surface features predict the answer? In percent; the view is the one that gives most away.\n" + tabulate(
        [_leak(leak) for leak in found.leaks if leak.accuracy is not None],
        headers=("task", "predicted", "from", "view", "accuracy", "95 % interval", "chance", "95 % below", "p",
                 "verdict"),
        disable_numparse=True, colalign=("left",) * 4 + ("right",) * 5 + ("left",))
    yield "\n".join(_words(found))
    yield "Balance, each variant once; 'largest' is what always naming the commonest would get.\n" + tabulate(
        [[b.task, b.what, ", ".join(f"{k} {n}" for k, n in b.counts.items()), f"{b.largest:.0f} %"]
         for b in found.balances],
        headers=("task", "of", "counts", "largest"), maxcolwidths=[None, None, 80, None], disable_numparse=True)
    yield (f"Likeness of different instances; spectra are near-duplicates below {NEAR:g} % of their range, pictures below "
           f"{USUAL:g} % of the usual distance of two.\n") + tabulate(
        [[r.task, r.what, r.count, _number(r.correlation, ".5f"), _number(r.distance, ".2f"), r.near, r.same,
          " ".join(r.pair), r.differ or ""] for r in found.likenesses],
        headers=("task", "of", "n", "max correlation", "nearest, %", "near", "identical", "nearest or identical two",
                 "identical, other answer"), disable_numparse=True)
    if any(r.differ for r in found.likenesses):
        yield ("Items may share one input and differ in the answer, for then the other input decides; two whole requests "
               "that are the same and expect different answers would stand below as wrong.")
    yield _contexts(found)
    yield "\n".join(["wrong:", *(f"  - {p}" for p in found.problems)]) if found.problems else (
        "nothing wrong")


def _leak(leak: Leak) -> list[str]:
    interval = f"{leak.interval[0]:.0f}-{leak.interval[1]:.0f}" if leak.interval else "-"
    return [leak.task, leak.target, leak.feature, leak.view or "-", _number(leak.accuracy, ".0f"), interval,
            _number(leak.chance, ".0f"), _number(leak.chance_high, ".0f"), _number(leak.p, ".3f"), leak.verdict]


def _words(found: Findings) -> list[str]:
    """What the design gives away, said and not hidden."""
    out = []
    reasons: dict[tuple[str, str], list[str]] = {}
    for leak in found.leaks:
        if leak.why and leak.accuracy is not None:
            reasons.setdefault((leak.verdict, leak.why), []).append(leak.feature)
    for (verdict, why), names in reasons.items():
        out.append(f"{verdict}: {', '.join(dict.fromkeys(names))} - {why}.")
    same: dict[str, list[str]] = {}
    for leak in found.leaks:
        if leak.accuracy is None:
            same.setdefault(f"{leak.task}, {leak.target}", []).append(leak.feature)
    out += [f"the same in all requests of a view, so it says nothing: {', '.join(names)} ({where})."
            for where, names in same.items()]
    if any(leak.target.startswith("where") for leak in found.leaks):
        out.append("Chance of 'where' is over the answers that the queried interval leaves possible.")
    return out


def _contexts(found: Findings) -> str:
    if not found.longest:
        return "No model that declares a context was compared with the prompts."
    alike: dict[tuple, list[str]] = {}
    for r in found.longest:
        if r.tokens:
            alike.setdefault((f"{r.context:,}", f"{'' if r.exact else '~'}{r.tokens:,}", r.over or "", r.key.rstrip("/")),
                             []).append(r.model)
    table = tabulate([[", ".join(names), *row] for row, names in alike.items()],
                     headers=("models", "context", "longest prompt, tokens", "too long", "request"), disable_numparse=True)
    tail = f"\n~ estimated from its length. No context declared: {', '.join(found.silent)}." if found.silent else ""
    return f"Prompts against the context of models:\n{table}{tail}"


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
