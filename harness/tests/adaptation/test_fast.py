"""Shorter ways give the numbers of peft and transformers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the train extra is not installed")
peft = pytest.importorskip("peft", reason="the train extra is not installed")

from harness.adaptation import pools  # noqa: E402  (needs the train extra)
from harness.adaptation.base import Prompter, find  # noqa: E402
from harness.adaptation.batches import collate, examples  # noqa: E402
from harness.adaptation.fast import Projection, mask  # noqa: E402
from harness.adaptation.loop import Learner  # noqa: E402
from harness.adaptation.spec import load_arm  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
RATE = 0.05


@pytest.fixture(scope="module")
def arm():
    arm = load_arm("cpu-ftD", ROOT)
    return replace(arm, lora=replace(arm.lora, last_layers=None, dropout=0.0))


@pytest.fixture(scope="module")
def chosen(arm):
    """Requests of one table and one of another, so that a batch has shared and padded rows."""
    train = pools.split(arm, ROOT, "option_letters").train
    together = [r for r in train if r.key.instance == train[0].key.instance][:5]
    other = next(r for r in train if r.evidence_text != together[0].evidence_text)
    return examples([*together, other], Prompter(find("pico", ROOT)))


def learner(arm) -> Learner:
    """A learner whose adapter changes something: LoRA begins with B = 0."""
    learner = Learner(find("pico", ROOT), arm, 0)
    torch.manual_seed(1)
    for p in learner.trainable:
        if not p.any():
            p.data.normal_(std=0.02)
    return learner


def gradients(learner: Learner, scores: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    torch.nn.functional.cross_entropy(scores, right).backward()
    return torch.cat([p.grad.flatten() for p in learner.trainable])


@pytest.fixture(scope="module")
def plain(arm, chosen):
    """Scores and gradients of peft and transformers as they are, a request at a time."""
    from transformers import AutoModelForCausalLM

    from harness.adaptation.base import adapted_layers

    ours = learner(arm)
    model = AutoModelForCausalLM.from_pretrained(find("pico", ROOT).checkpoint, dtype=torch.float32)
    model = peft.get_peft_model(model, peft.LoraConfig(r=arm.lora.rank, lora_alpha=arm.lora.scale, lora_dropout=0.0,
                                                       target_modules=list(adapted_layers(model, arm.lora))))
    peft.set_peft_model_state_dict(model, ours.adapter())
    scores = torch.full((len(chosen), max(len(e.candidates) for e in chosen)), -torch.inf)
    for i, e in enumerate(chosen):
        scores[i, : len(e.candidates)] = model(torch.tensor([e.ids])).logits[0, -1, list(e.candidates)]
    torch.nn.functional.cross_entropy(scores, torch.tensor([e.right for e in chosen])).backward()
    return scores, torch.cat([p.grad.flatten() for p in model.parameters() if p.requires_grad])


@pytest.mark.parametrize("checkpointing", [False, True])
@pytest.mark.parametrize("share", [True, False])
def test_scores_and_gradients_are_those_of_peft_and_transformers(arm, chosen, plain, share, checkpointing):
    ours = learner(replace(arm, gradient_checkpointing=checkpointing))
    ours.model.train()
    batch = collate(chosen, share)
    scores = ours.scores(batch)
    found = gradients(ours, scores, batch.right)
    apart = (found - plain[1]).norm() / plain[1].norm()
    assert (torch.allclose(scores, plain[0], atol=1e-3), apart.item() < 1e-3) == (True, True)


def test_a_projection_has_the_gradients_of_its_formula():
    torch.manual_seed(0)
    x, weight, bias, a, b = (torch.randn(s, dtype=torch.double, requires_grad=True)
                             for s in ((5, 6), (4, 6), (4,), (2, 6), (4, 2)))
    keep = (torch.rand(5, 6) > 0.3).double()
    ours = Projection.apply(x, weight.detach(), bias.detach(), a, b, keep, 1.5)
    theirs = x @ weight.detach().T + bias.detach() + (x * keep) @ a.T @ b.T * 1.5
    found = [torch.autograd.grad(y.square().sum(), (x, a, b)) for y in (ours, theirs)]
    assert [torch.allclose(p, q) for p, q in zip(*found, strict=True)] == [True, True, True]


def test_dropout_meets_its_rate_and_states_the_share_that_it_keeps():
    torch.manual_seed(0)
    keep, share = mask(torch.empty(2000, 1000), RATE)
    assert (abs(share - (1 - RATE)) < 1e-5, abs(keep.mean().item() - share) < 5e-4, keep.unique().tolist()) == (
        True, True, [0, 1])


def test_every_mask_is_another_and_the_seed_decides():
    torch.manual_seed(0)
    first, second = (mask(torch.empty(100, 100), RATE)[0] for _ in range(2))
    torch.manual_seed(0)
    again = mask(torch.empty(100, 100), RATE)[0]
    assert (torch.equal(first, again), torch.equal(first, second)) == (True, False)


def test_dropout_is_the_same_when_activations_are_computed_twice(arm, chosen):
    """Gradient checkpointing draws the masks of the forward pass again."""
    found = []
    for checkpointing in (False, True):
        ours = learner(replace(arm, gradient_checkpointing=checkpointing, lora=replace(arm.lora, dropout=RATE)))
        ours.model.train()
        torch.manual_seed(2)
        batch = collate(chosen)
        found.append(gradients(ours, ours.scores(batch), batch.right))
    assert torch.allclose(*found, atol=1e-6)


def test_an_evaluation_drops_nothing(arm, chosen):
    ours = learner(replace(arm, lora=replace(arm.lora, dropout=RATE)))
    ours.model.eval()
    first, again = (ours.scores(collate(chosen)) for _ in range(2))
    assert torch.equal(first, again)
