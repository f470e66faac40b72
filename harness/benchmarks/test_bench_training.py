"""Training speed against what a first script would do: peft and transformers' Trainer with logits over the whole
sequence and no bucketing. Both train the same adapter on the same requests, one after the other, in one process.

Tokens are those of the requests as each is asked: padding does not count, and shared evidence counts for each.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from harness.adaptation import pools
from harness.adaptation.base import Prompter, find
from harness.adaptation.batches import Example, examples, steps
from harness.adaptation.spec import load_arm

torch = pytest.importorskip("torch", reason="the train extra is not installed")
pytest.importorskip("peft", reason="the train extra is not installed")
pytest.importorskip("accelerate", reason="the plain loop is transformers' Trainer, which needs accelerate")
pytestmark = [pytest.mark.train, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
EVERY = {"pico": 24, "smollm2": 192}
"""Of the pool's instances, each with all its requests: its tasks and tables in their proportions."""


def some(train: list, every: int) -> list:
    chosen = set(sorted({r.key.instance for r in train})[::every])
    return [r for r in train if r.key.instance in chosen]


def ours(base, arm, learn: list[Example]) -> float:
    """Tokens a second of the training loop, padding not counted."""
    from harness.adaptation.loop import Learner

    learner = Learner(base, arm, 0)
    order = steps(learn, arm.accumulate, 0, 1)
    learner.train_step([learn[i] for i in order[0]])
    begun = time.perf_counter()
    for indices in order:
        learner.train_step([learn[i] for i in indices])
    return sum(len(e.ids) for e in learn) / (time.perf_counter() - begun)


def plain(base, arm, learn: list[Example]) -> float:
    """The same with Trainer: labels on the answer token, everything else its default."""
    import peft
    from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

    model = AutoModelForCausalLM.from_pretrained(base.checkpoint, dtype=torch.float32)
    model = peft.get_peft_model(model, peft.LoraConfig(
        r=arm.lora.rank, lora_alpha=arm.lora.scale, lora_dropout=arm.lora.dropout, task_type="CAUSAL_LM",
        target_modules=list(arm.lora.targets)))

    def collate(chosen: list[Example]) -> dict:
        size = max(len(e.ids) for e in chosen) + 1
        ids, mask = torch.zeros(len(chosen), size, dtype=torch.long), torch.zeros(len(chosen), size, dtype=torch.long)
        labels = torch.full((len(chosen), size), -100)
        for i, e in enumerate(chosen):
            whole = torch.tensor([*e.ids, e.candidates[e.right]])
            ids[i, : len(whole)], mask[i, : len(whole)], labels[i, len(whole) - 1] = whole, 1, whole[-1]
        return {"input_ids": ids, "attention_mask": mask, "labels": labels}

    at_once = arm.accumulate if base.name == "pico" else 2  # eight rows of logits over 49,152 tokens need over 20 GB
    arguments = TrainingArguments("unused", per_device_train_batch_size=at_once, num_train_epochs=1,
                                  gradient_accumulation_steps=arm.accumulate // at_once,
                                  use_cpu=True, learning_rate=arm.rate, report_to=[], save_strategy="no",
                                  logging_strategy="no", disable_tqdm=True, remove_unused_columns=False,
                                  dataloader_pin_memory=False)
    trainer = Trainer(model=model, args=arguments, train_dataset=learn, data_collator=collate)
    begun = time.perf_counter()
    trainer.train()
    return sum(len(e.ids) for e in learn) / (time.perf_counter() - begun)


@pytest.mark.parametrize("name", ["pico", "smollm2"])
def test_training_is_at_least_twice_as_fast_as_a_plain_loop(name, tmp_path, monkeypatch):
    """On a part of the paper's pool; a few minutes on two cores."""
    monkeypatch.chdir(tmp_path)
    arm = replace(load_arm("ftB", ROOT), precision="fp32")
    base = find(name, ROOT)
    learn = examples(some(pools.split(arm, ROOT, "option_letters").train, EVERY[name]), Prompter(base))
    rates = {"ours": ours(base, arm, learn), "plain": plain(base, arm, learn)}
    print(f"{name}: {len(learn)} requests, tokens a second", {k: round(v) for k, v in rates.items()},
          round(rates["ours"] / rates["plain"], 2))
    assert rates["ours"] / rates["plain"] >= 2
