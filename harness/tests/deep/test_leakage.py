"""Planted leaks are found, and nothing else is; chance knows what an interval excludes."""

from __future__ import annotations

import numpy as np

from harness.deep import bayes, chance
from harness.deep.features import FILE_SIZE, NUMBER_OF_ID, SHOWN
from harness.deep.leakage import cornered, leaks
from harness.deep.survey import Item
from harness.probe import ABSTAIN, RequestKey

BANDS = ("450-605", "605-645", "645-685", "685-730")
SPANS = ((605.0, 730.0), (450.0, 685.0))


def item(i: int, answer: str, question: str = "Where?", task: str = "scope", rows: float = 30.0, **more) -> Item:
    features = {**dict.fromkeys(SHOWN, ("same",)), "question": (question,), "rows": (rows,), FILE_SIZE: (0.0,),
                NUMBER_OF_ID: (float(i),)}
    key = RequestKey("s", task, f"{task}-{i:03d}", more.pop("variant", "full"), "table_nm", "plain", 0, "")
    return Item(key, key.instance, answer, (*BANDS, ABSTAIN) if task == "scope" else ("A", "B"), features, str(i), **more)


def found(items: list[Item]) -> list[tuple[str, str]]:
    return [(leak.target, leak.feature) for leak in leaks(items) if leak.verdict == "above chance"]


def answers(n: int, seed: int, of: tuple[str, ...] = BANDS) -> list[str]:
    return [of[k] for k in np.random.default_rng(seed).integers(len(of), size=n)]


def test_an_answer_that_follows_the_interval_is_found():
    spans = [SPANS[i % 2] for i in range(54)]
    items = [item(i, "645-685" if s == SPANS[0] else "605-645", f"Only {s[0]:g}-{s[1]:g} nm?", span=s)
             for i, s in enumerate(spans)]
    assert [("where, if answerable", "question"), ("where, if answerable", "all together")] == found(items)


def test_what_the_interval_excludes_is_no_leak():
    rng = np.random.default_rng(1)
    spans = [SPANS[i % 2] for i in range(54)]
    items = [item(i, str(rng.choice(BANDS[1:] if s == SPANS[0] else BANDS[:3])), f"Only {s[0]:g}-{s[1]:g} nm?", span=s)
             for i, s in enumerate(spans)]
    assert [] == found(items)


def test_an_interval_that_leaves_one_answer_is_named():
    items = [item(0, "605-645", span=(605.0, 645.0)), item(1, "605-645", span=(450.0, 685.0))]
    assert ["scope-000"] == [i.key.instance for i in cornered(items)]


def test_an_answer_that_follows_the_number_of_rows_without_order_is_found():
    drawn = answers(60, 2, ("A", "B"))
    items = [item(i, a, task="compare", rows=30.0 + (i % 3 * 2 + (a == "A"))) for i, a in enumerate(drawn)]
    assert ("the answer", "rows") in found(items)


def test_a_threshold_that_tells_the_side_is_found_through_its_number():
    drawn = answers(80, 3, ("A", "B"))
    items = [item(i, a, f"Longer than {500 + i / 10 + 40 * (a == 'A'):.1f}?", task="threshold") for i, a in enumerate(drawn)]
    numbers = [float(i.features["question"][0].split()[2][:-1]) for i in items]
    items = [item(i, a, task="threshold", question=f"Q{i}") for i, a in enumerate(drawn)]
    items = [Item(**{**{f: getattr(i, f) for f in Item.__dataclass_fields__},
                     "features": {**i.features, "question": (i.features["question"][0], n)}})
             for i, n in zip(items, numbers, strict=True)]
    assert ("the answer", "question") in found(items)


def test_answers_drawn_by_chance_leak_in_one_set_of_twenty_at_most():
    leaky = sum(bool(found([item(i, a, f"Only {i % 2}?", task="compare", rows=30.0 + i * 7 % 11)
                            for i, a in enumerate(answers(40, seed, ("A", "B")))])) for seed in range(20))
    assert leaky <= 2  # 5 % each; three of twenty would be rarer than 1 in 13


def test_a_cut_shows_in_the_rows_and_is_said_to():
    items = [x for i, a in enumerate(answers(40, 5)) for x in (
        item(i, a, cut="full"), item(i, a, variant="cut_out", rows=18.0, cut="outside"),
        item(i, ABSTAIN, variant="cut_in", rows=12.0 + i % 5, cut="inside"))]
    rows = {(leak.target, leak.feature): leak for leak in leaks(items)}
    said = rows["answerable or not", "rows"]
    assert ("by design", 100.0) == (said.verdict, said.accuracy)
    assert "takes samples away" in said.why
    assert [] == found(items)


def test_a_group_is_never_in_training_and_in_test_at_once():
    groups = [f"g{i // 4}" for i in range(40)]
    folds = bayes.folds_of(groups)
    assert 10 == len({(g, f) for g, f in zip(groups, folds, strict=True)})


def test_the_classifier_learns_one_to_one_and_no_more():
    labels = np.tile([0, 1, 2], 20)
    folds = bayes.folds_of([str(i) for i in range(60)])
    assert bayes.right([labels], labels[None], folds).all()
    assert bayes.right([np.zeros(60, int)], labels[None], folds).mean() <= 0.4


def test_labels_move_in_blocks_and_every_place_gets_one():
    groups = ["a", "a", "b", "b", "c", "c"]
    moved = chance.labellings(groups, 200)
    assert (np.sort(moved, axis=1) == np.arange(6)).all()
    assert all({row[k] // 2 for k in (place, place + 1)} == {row[place] // 2} for row in moved for place in (0, 2, 4))


def test_a_forbidden_place_stays_forbidden_and_the_allowed_ones_are_used_equally():
    moved = chance.labellings(["a", "b", "c"], 3_000, possible=lambda label, place: (label, place) != (0, 2))
    assert not (moved[:, 2] == 0).any()
    shares = np.unique(moved @ [9, 3, 1], return_counts=True)[1] / 3_000
    assert 4 == len(shares)  # of the six orders, two put label 0 into place 2
    assert np.allclose(shares, 0.25, atol=0.04)
