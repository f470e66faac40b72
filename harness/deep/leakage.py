"""Does anything that needs no reading predict the answer? Surface features against chance, one row a feature."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..probe import ABSTAIN
from ..report.decisions import adjusted
from . import bayes, chance, features
from .survey import Item

FIRST, FURTHER = 199, 1_999
"""Permuted labellings; more where the first ones leave it open."""
LEVEL = 0.05
"""Of all tests of a spec together (Holm)."""
RESAMPLES = 1_000

Verdict = Literal["near chance", "above chance", "by design", "not shown", "always the same"]

CUT_SHOWS = "a cut takes samples away, which shows in the number of rows and the length of the text"
IN_TURN = "answers are drawn in turn, so the number may tell them; no request holds it"
SHORTER = "what an input leaves out makes its text shorter"
CURVE = "a file grows with what its picture draws, which is the evidence; no model is shown the size of a file"


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be predicted in a task: unit -> label; units without a label are left out."""

    name: str
    label: Callable[[Item], tuple[str, ...] | None]


@dataclass(frozen=True, slots=True)
class Leak:
    """One feature against one target.

    Attributes:
        view: where it predicts best; its numbers follow.
        accuracy, interval: percent, with a 95 % percentile interval over groups.
        chance, chance_high: mean and 95th percentile of the best view's accuracy under permuted labels, percent.
        p: share of labellings that do as well, the true one included.
        why: in words, where the design itself gives the answer away or the feature is not shown.
    """

    task: str
    target: str
    feature: str
    verdict: Verdict
    view: str = ""
    accuracy: float | None = None
    interval: tuple[float, float] | None = None
    chance: float | None = None
    chance_high: float | None = None
    p: float | None = None
    instances: int = 0
    requests: int = 0
    why: str = ""


def leaks(items: Sequence[Item], seed: int = 0) -> list[Leak]:
    """Every task, target and feature of one spec, judged together."""
    rows = [leak for task in dict.fromkeys(i.key.task for i in items)
            for leak in _task([i for i in items if i.key.task == task and not i.shared and not i.probe], seed)]
    tested = [(k, leak.p) for k, leak in enumerate(rows) if leak.verdict == "near chance" and leak.p is not None]
    for (k, _), p in zip(tested, adjusted([p for _, p in tested]), strict=True):
        if p <= LEVEL:
            rows[k] = replace(rows[k], verdict="above chance")
    return rows


def _task(items: Sequence[Item], seed: int) -> Iterator[Leak]:
    shown = any(i.names_itself for i in items)
    for target in targets(items):
        views = _views(items, target)
        if not views:
            continue
        for feature in (*features.SHOWN, features.TOGETHER, *features.HIDDEN):
            yield _test(views, target, feature, shown, seed)


def targets(items: Sequence[Item]) -> list[Target]:
    """What can be asked of a task: the answer, or where it lies and whether there is one; what an input settles."""
    found: list[Target] = []
    if any(i.abstains for i in items):
        found += [Target("where, if answerable", lambda i: None if i.expected == ABSTAIN else (i.expected,)),
                  Target("answerable or not", lambda i: (str(i.expected == ABSTAIN),))]
        if any(i.cut == "outside" for i in items):
            found.append(Target("outside or inside cut", lambda i: (i.cut,) if i.cut in ("outside", "inside") else None))
    elif any(i.members for i in items):
        found.append(Target("each member", lambda i: tuple(str(f'"{m}"' in i.expected) for m in i.members)))
    elif any(i.options for i in items):
        found.append(Target("the answer", lambda i: (i.expected,)))
    else:
        numbers = sorted(float(i.expected) for i in items)
        low, high = numbers[len(numbers) // 3], numbers[2 * len(numbers) // 3]
        found.append(Target("the answer, in thirds",
                            lambda i: (str((float(i.expected) > low) + (float(i.expected) > high)),)))
    for arm in dict.fromkeys(i.arm for i in items if i.sufficient is not None):
        found.append(Target(f"does {arm} settle it",
                            lambda i, arm=arm: (str(i.sufficient),) if i.arm == arm else None))
    return [t for t in found if len({t.label(i) for i in items} - {None}) > 1]


def _views(items: Sequence[Item], target: Target) -> dict[str, list[Item]]:
    """View -> its items with a label, one template; templates show the same evidence."""
    out: dict[str, list[Item]] = {}
    for item in items:
        if target.label(item) is not None:
            out.setdefault(item.key.view, []).append(item)
    return {view: [i for i in rows if i.key.template == rows[0].key.template] for view, rows in out.items()}


def _test(views: dict[str, list[Item]], target: Target, feature: str, shown: bool, seed: int) -> Leak:
    every = {i.unit: i for rows in views.values() for i in rows}
    units = {unit: n for n, unit in enumerate(every)}
    task, rows = next(iter(every.values())).key.task, list(every.values())
    design, word = _design(target, feature, shown)
    leak = Leak(task, target.name, feature, word, instances=len({i.group for i in rows}), requests=len(rows), why=design)
    seen: dict[bytes, tuple[str, list[np.ndarray], np.ndarray, np.ndarray]] = {}
    for view, shown_items in views.items():
        names = features.SHOWN if feature == features.TOGETHER else (feature,)
        columns = [c for name in names for c in features.binned([i.features[name] for i in shown_items])]
        if columns:
            at = np.array([units[i.unit] for i in shown_items])
            seen.setdefault(b"".join(c.tobytes() for c in (*columns, at)),
                            (view, columns, at, bayes.folds_of([i.group for i in shown_items], seed)))
    if not seen:
        return replace(leak, verdict="always the same", why="")
    labels = _codes([target.label(i) for i in rows])  # (columns, units)
    true = [_accuracies(columns, labels[:, None, :][:, :, at], folds) for _, columns, at, folds in seen.values()]
    best = int(np.argmax([t.mean() for t in true]))
    view, _, at, _ = list(seen.values())[best]
    value = true[best].mean()
    possible = _possible(rows) if target.name.startswith("where") else None
    null = np.empty(0)
    for count in (FIRST, FURTHER - FIRST):
        moved = chance.labellings([i.group for i in rows], count, seed + len(null), possible)
        null = np.append(null, np.max([_accuracies(columns, labels[:, moved][:, :, at], folds).mean(1)
                                       for _, columns, at, folds in seen.values()], axis=0))
        if word != "near chance" or (null >= value - 1e-9).mean() > LEVEL:
            break
    interval = _interval(true[best][0], [rows[a].group for a in at], seed)
    return replace(leak, view=view, accuracy=100 * value, interval=interval,
                   chance=100 * float(null.mean()), chance_high=100 * float(np.quantile(null, 0.95)),
                   p=float((1 + (null >= value - 1e-9).sum()) / (1 + len(null))))


def _accuracies(columns: list[np.ndarray], labels: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """(p, n) share of a row's labels that are predicted; ``labels`` is (label columns, p, n)."""
    return np.mean([bayes.right(columns, one, folds) for one in labels], axis=0)


def _codes(labels: Sequence[tuple[str, ...] | None]) -> np.ndarray:
    return np.array([np.unique(c, return_inverse=True)[1] for c in zip(*(x for x in labels if x), strict=True)])


def _possible(rows: Sequence[Item]) -> Callable[[int, int], bool] | None:
    """Whether the answer of one unit may stand at another: its band has to overlap the queried interval there."""
    if not all(i.span for i in rows):
        return None
    return lambda source, place: within(rows[source].expected, rows[place].span)


def within(option: str, span: Sequence[float]) -> bool:
    """Whether an option can be the answer about an interval: a band has to overlap it, anything else always can."""
    low, dash, high = option.partition("-")
    try:
        return not dash or (float(low) < span[1] and float(high) > span[0])
    except ValueError:
        return True


def cornered(items: Sequence[Item]) -> list[Item]:
    """Scope requests, one an instance, whose interval alone leaves a single place for the extremum."""
    scope = {i.key.instance: i for i in items if i.key.task == "scope" and i.span}
    return [i for i in scope.values() if sum(within(o, i.span) for o in i.options if o != ABSTAIN) < 2]


def _design(target: Target, feature: str, shown: bool) -> tuple[str, Verdict]:
    """In words why a feature has to give the target away, and the verdict to start from."""
    if feature == features.FILE_SIZE:
        return CURVE, "not shown"
    if feature == features.NUMBER_OF_ID and not shown:
        return IN_TURN, "not shown"
    if feature in ("rows", "text length", features.TOGETHER) and "answerable or" in target.name:
        return CUT_SHOWS, "by design"
    if feature in ("rows", "text length", features.TOGETHER) and "cut" in target.name:
        return f"{CUT_SHOWS}; an outside cut leaves exactly the rows of the interval", "by design"
    if feature in ("rows", "text length", features.TOGETHER) and target.name.endswith("settle it"):
        return SHORTER, "by design"
    return "", "near chance"


def _interval(hits: np.ndarray, groups: Sequence[str], seed: int) -> tuple[float, float] | None:
    """95 % percentile interval of a mean over groups, percent; None for a single group."""
    names, place = np.unique(groups, return_inverse=True)
    if len(names) < 2:
        return None
    total, count = np.bincount(place, hits), np.bincount(place)
    weights = np.random.default_rng(seed).multinomial(len(names), np.full(len(names), 1 / len(names)), RESAMPLES)
    low, high = np.quantile(weights @ total / (weights @ count), (0.025, 0.975))
    return 100 * float(low), 100 * float(high)
