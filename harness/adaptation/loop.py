"""The training loop (optical-spectra paper, section 5.3): cross-entropy over the option letters at the last position.

Nothing but the adapter learns. Hidden states of the last position alone meet the rows of the output matrix that belong
to the option letters: no logits over the vocabulary, none over the sequence. Random numbers depend on (seed, epoch),
so a run that was killed goes on from its last whole epoch and ends with the same weights, on the same device, as one
that was not.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..errors import AdapterError
from .base import EXTRA, Base, Prompter, adapted_layers, layer_of
from .batches import Batch, Example, collate, examples, steps
from .checkpoint import Folder
from .epochs import Point, finished, kept
from .pools import Split, sampled
from .spec import Arm

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Trained:
    """A finished run; ``curve`` has a point for every epoch, ``kept`` is the one whose weights are the adapter."""

    folder: Path
    curve: tuple[Point, ...]
    kept: Point
    parameters: int
    tokens_per_s: float | None


class Learner:
    """The frozen base with its adapter on one device."""

    def __init__(self, base: Base, arm: Arm, seed: int, device: str = "cpu"):
        try:
            import peft
            import torch
            from transformers import AutoModelForCausalLM

            from .fast import fuse, only_last, registered
        except ImportError as error:
            raise AdapterError(EXTRA) from error
        self.torch, self.arm, self.device = torch, arm, device
        dtype = torch.bfloat16 if arm.precision == "bf16" else torch.float32
        model = AutoModelForCausalLM.from_pretrained(base.checkpoint, dtype=dtype).to(device)
        names = list(adapted_layers(model, arm.lora))
        torch.manual_seed(seed)
        config = peft.LoraConfig(r=arm.lora.rank, lora_alpha=arm.lora.scale, lora_dropout=arm.lora.dropout,
                                 target_modules=names, bias="none", task_type="CAUSAL_LM")
        self.model = peft.get_peft_model(model, config)
        self.config = {**config.to_dict(), "target_modules": sorted({n.rpartition(".")[2] for n in names}),
                       "layers_to_transform": sorted({layer_of(n) for n in names}) if arm.lora.last_layers else None,
                       "base_model_name_or_path": base.name}
        self.config = {k: sorted(v) if isinstance(v, set) else v for k, v in self.config.items()}
        self.trainable = [p for p in self.model.parameters() if p.requires_grad]
        self.parameters = sum(p.numel() for p in self.trainable)
        if arm.gradient_checkpointing:
            model.gradient_checkpointing_enable()
            model.enable_input_require_grads()
        # a mask of its own for each token exists in full attention only
        self.shares = set(getattr(model.config, "layer_types", None) or ["full_attention"]) == {"full_attention"}
        self.decoder = model.get_decoder()
        self.own_attention = device == "cpu" and self.shares and model.config._attn_implementation == "sdpa"
        if self.own_attention:
            model.set_attn_implementation(registered())
        if device == "cpu" and dtype == torch.float32:
            fuse(self.model, arm.lora.dropout)
        self.only = only_last(self.decoder)
        self.output = model.get_output_embeddings().weight
        self.optimizer = torch.optim.AdamW(self.trainable, lr=arm.rate, weight_decay=arm.weight_decay)

    def scores(self, batch: Batch) -> Any:
        """(n, candidates) logits of the option letters; -inf where a request has fewer."""
        torch, to = self.torch, self.device
        mask = None if batch.mask is None else batch.mask.to(to)
        read = batch.row.to(to), batch.last.to(to)
        for part in self.only:
            part.at = read
        more = {"beginning": batch.beginning} if self.own_attention else {}
        hidden = self.decoder(input_ids=batch.ids.to(to), position_ids=batch.positions.to(to), attention_mask=mask,
                              use_cache=False, **more).last_hidden_state
        at = hidden[read]
        rows = self.output[batch.candidates.to(to)]
        logits = torch.einsum("nh,nch->nc", at.float(), rows.float())
        return logits.masked_fill(~batch.valid.to(to), -torch.inf)

    def train_step(self, chosen: Sequence[Example]) -> tuple[float, float]:
        """One optimizer step on these requests; mean loss and the norm of the gradient before clipping."""
        torch = self.torch
        total = 0.0
        for start in range(0, len(chosen), self.arm.batch):
            batch = collate(chosen[start : start + self.arm.batch], self.shares)
            loss = torch.nn.functional.cross_entropy(self.scores(batch), batch.right.to(self.device), reduction="sum")
            (loss / len(chosen)).backward()
            total += loss.item()
        norm = torch.nn.utils.clip_grad_norm_(self.trainable, self.arm.clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return total / len(chosen), norm.item()

    def judge(self, development: Sequence[Example]) -> tuple[float, float]:
        """Accuracy and mean loss, dropout off."""
        torch = self.torch
        self.model.eval()
        right, total = 0, 0.0
        by_length = sorted(development, key=lambda e: (len(e.ids), e.evidence))
        with torch.no_grad():
            for start in range(0, len(by_length), self.arm.batch):
                batch = collate(by_length[start : start + self.arm.batch], self.shares)
                logits, answer = self.scores(batch), batch.right.to(self.device)
                total += torch.nn.functional.cross_entropy(logits, answer, reduction="sum").item()
                right += int((logits.argmax(-1) == answer).sum())
        self.model.train()
        return right / len(development), total / len(development)

    # -- state ------------------------------------------------------------------------------------------------------

    def adapter(self) -> dict[str, Any]:
        import peft

        state = peft.get_peft_model_state_dict(self.model)
        return {k: v.detach().float().cpu().contiguous() for k, v in state.items()}

    def optimizer_state(self) -> dict[str, Any]:
        out = {}
        for i, p in enumerate(self.trainable):
            for name, value in self.optimizer.state.get(p, {}).items():
                out[f"{i}.{name}"] = value.detach().cpu().contiguous()
        return out

    def restore(self, adapter: dict[str, Any], optimizer: dict[str, Any]) -> None:
        import peft

        peft.set_peft_model_state_dict(self.model, adapter)
        for i, p in enumerate(self.trainable):
            self.optimizer.state[p] = {name: optimizer[f"{i}.{name}"].to(p.device if name != "step" else "cpu")
                                       for name in ("step", "exp_avg", "exp_avg_sq")}


def train(arm: Arm, seed: int, base: Base, split: Split, out: Path, *, device: str = "cpu", threads: int = 0,
          tell: Tell = lambda line: print(line, file=sys.stderr, flush=True), bar: bool = True) -> Trained:
    """Train one seed of an arm, or go on with it; a finished one is only read.

    Args:
        out: the adapter's folder, ``.../ARM/SEED``.
        threads: of torch; 0 leaves its own choice.
        bar: show a progress bar with loss, last development accuracy and time left.

    Raises:
        AdapterError: targets that the base lacks, a folder of another run, a checkpoint cut short, out of memory.
    """
    try:
        import torch
    except ImportError as error:
        raise AdapterError(EXTRA) from error
    if threads:
        torch.set_num_threads(threads)
    prompter = Prompter(base)
    learn, check = examples(sampled(arm, split.train, seed), prompter), examples(split.development, prompter)
    folder = Folder(out)
    learner = Learner(base, arm, seed, device)
    tell(f"{arm.name}/{seed}: {learner.parameters:,} trainable parameters on {base.name}; {len(learn):,} training and "
         f"{len(check):,} development requests, {sum(len(e.ids) for e in learn):,} tokens an epoch")
    folder.describe({
        "arm": dict(arm.data), "seed": seed, "base": base.name, "fingerprint": base.fingerprint,
        "data_sha256": digest([learn, check]), "train": len(learn), "development": len(check),
        "shared_structures": list(split.shared), "parameters": learner.parameters, "device": device,
        "versions": {"torch": torch.__version__, "transformers": version("transformers"), "peft": version("peft")},
    })
    curve = folder.curve()
    speed = None
    if curve and not finished(curve, arm.rule):
        learner.restore(*folder.load_epoch(len(curve)))
        tell(f"{arm.name}/{seed}: goes on after epoch {len(curve)}")
    with guarded(torch, arm):
        while not finished(curve, arm.rule):
            epoch = len(curve) + 1
            loss, speed, norm = one_epoch(learner, learn, seed, epoch, curve, bar)
            accuracy, development = learner.judge(check)
            curve.append(Point(epoch, accuracy, development))
            folder.save_epoch(curve[-1], learner.adapter(), learner.config, learner.optimizer_state(), {
                "epoch": epoch, "accuracy": accuracy, "loss": development, "train_loss": loss, "gradient_norm": norm,
                "tokens_per_s": round(speed, 1)})
            tell(f"{arm.name}/{seed}: epoch {epoch}: training loss {loss:.3f}, development loss {development:.3f}, "
                 f"accuracy {accuracy:.3f}, {speed:,.0f} tokens/s")
    chosen = kept(curve, arm.rule)
    if not folder.finished:
        folder.keep(chosen.epoch)
    from .curve import draw

    draw(folder.path, curve, chosen, f"{arm.name}, seed {seed}")
    return Trained(out, tuple(curve), chosen, learner.parameters, speed)


def one_epoch(learner: Learner, learn: Sequence[Example], seed: int, epoch: int, curve: Sequence[Point],
              bar: bool) -> tuple[float, float, float]:
    """Mean loss, tokens a second and mean gradient norm of one pass over the training requests."""
    from tqdm import tqdm

    learner.torch.manual_seed(int.from_bytes(hashlib.sha256(f"{seed}:{epoch}".encode()).digest()[:6]))
    order = steps(learn, learner.arm.accumulate, seed, epoch)
    begun, losses, norms, tokens = time.perf_counter(), 0.0, 0.0, 0
    learner.model.train()
    last = f", development {curve[-1].accuracy:.3f}" if curve else ""
    progress = tqdm(order, desc=f"epoch {epoch}", unit="step", disable=not bar, leave=False)
    for k, indices in enumerate(progress, 1):
        loss, norm = learner.train_step([learn[i] for i in indices])
        losses += loss * len(indices)
        norms += norm
        tokens += sum(len(learn[i].ids) for i in indices)
        if k % 5 == 0:
            progress.set_postfix_str(f"loss {loss:.3f}{last}")
    return losses / len(learn), tokens / (time.perf_counter() - begun), norms / len(order)


class guarded:
    """Turns running out of memory into advice."""

    def __init__(self, torch: Any, arm: Arm):
        self.torch, self.arm = torch, arm

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None:
            return
        text = str(error)
        if isinstance(error, MemoryError | self.torch.OutOfMemoryError) or "can't allocate memory" in text:
            less = [f"'batch' (now {self.arm.batch}; the recipe stays the same)"]
            if not self.arm.gradient_checkpointing:
                less.append("'gradient_checkpointing: true'")
            if self.arm.precision == "fp32":
                less.append("'precision: bf16'")
            raise AdapterError(f"arm {self.arm.name}: out of memory with batch {self.arm.batch}; lower or set "
                               f"{', '.join(less)} in {self.arm.file}") from error


def digest(parts: Sequence[Sequence[Example]]) -> str:
    """Hash of the tokens and answers of a run: two runs on other data never continue each other."""
    text = json.dumps([[list(asdict(e).values()) for e in part] for part in parts], separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def version(package: str) -> str:
    from importlib.metadata import version as installed

    return installed(package)
