"""The order of an epoch, and batches that compute shared evidence once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.adaptation.batches import Example, collate, common, examples, steps


def example(evidence: str, *own: int) -> Example:
    return Example((1, 2, *map(ord, evidence), *own), (5, 6), 0, evidence)


LEARN = [example("a" * (3 + k // 2 % 5) + str(k // 2), 7, k) for k in range(50)]


def test_an_epoch_holds_every_request_once():
    assert sorted(i for step in steps(LEARN, 8, 0, 1) for i in step) == list(range(50))


def test_all_steps_but_one_are_full():
    assert sorted({len(s) for s in steps(LEARN, 8, 0, 1)}) == [2, 8]


def test_requests_about_the_same_evidence_stand_in_one_step():
    apart = [{LEARN[i].evidence for i in s} for s in steps(LEARN, 8, 0, 1)]
    assert sum(map(len, apart)) <= 25 + len(apart)  # a pair is cut in two where a step ends, no more


def test_the_order_is_that_of_seed_and_epoch():
    first, again, epoch, seed = (steps(LEARN, 8, *x) for x in ((0, 1), (0, 1), (0, 2), (1, 1)))
    assert (first == again, first == epoch, first == seed) == (True, False, False)


@pytest.mark.parametrize("rows,expected", [
    ([(1, 2, 3), (1, 2, 4)], 2), ([(1, 2), (1, 2, 4)], 1), ([(1,), (2,)], 0), ([(1, 2, 3)], 2),
])
def test_the_common_beginning_leaves_a_token_to_each(rows, expected):
    assert common(rows) == expected


def test_without_shared_evidence_no_mask_is_needed():
    pytest.importorskip("torch")
    assert collate([example("a", 7), example("b", 8)]).mask is None


def test_a_question_sees_the_evidence_and_itself():
    torch = pytest.importorskip("torch")
    batch = collate([example("a", 7, 8), example("a", 9)])
    seen = batch.mask[0, 0]
    assert (batch.ids.tolist(), batch.positions.tolist(), seen[5].tolist(), bool(torch.isnan(batch.ids.float()).any())) == (
        [[1, 2, 97, 7, 8, 9]], [[0, 1, 2, 3, 4, 3]], [True, True, True, False, False, True], False)


def test_sharing_changes_no_score():
    """Requests of one table, in one row and each by itself, through the real model."""
    pytest.importorskip("peft")
    from pathlib import Path

    from harness.adaptation import pools
    from harness.adaptation.base import Prompter, find
    from harness.adaptation.loop import Learner
    from harness.adaptation.spec import load_arm

    root = Path(__file__).resolve().parents[3]
    arm, base = load_arm("cpu-ftD", root), find("pico", root)
    learner = Learner(base, replace(arm, lora=replace(arm.lora, dropout=0.0)), 0)
    train = [r for r in pools.split(arm, root, "option_letters").train if r.key.task in ("compare", "extreme")][:8]
    chosen = examples(train, Prompter(base))
    together, apart = (learner.scores(collate(chosen, share)) for share in (True, False))
    assert (together - apart).abs().nan_to_num(0).max().item() < 1e-3
