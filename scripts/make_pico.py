"""Make ``pico``, a decision model of 2.2 M parameters, and write it for the package.

    python scripts/make_pico.py --work build/pico --out harness/backends/data/pico    # half an hour on one core

Needs the train extra. Architecture: Qwen3 (4 layers, hidden 192, 4 heads of 64 with 1 key-value head, MLP 640, tied
embeddings), so that transformers and vLLM (``/v1/systemone`` too) take it as it is. Pool: ``pico_pool.py``, synthetic
spectra; no structure of any dataset.

Two things make half an hour enough. The first blocks start as what reading a table takes (``pico_network.py``), so what
is learned is what the questions mean: the last block's MLP, the norms around it and the letters' embeddings. And as
nothing below them changes, the states that they work on are computed once, for all the questions of a table together.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from pico_network import DIM, HEADS, HIDDEN, KV, LAYERS, MLP, Block, Pico, rotate, turns
from pico_pool import Pool, Sheet, load_specs
from pico_tokenizer import save, train, with_words
from torch import nn
from torch.nn import functional as F

ROOT = Path(__file__).resolve().parents[1]
SMOOTH = 0.01
"""Probability that each wrong letter should have."""


class Encoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.head = self.ids("<|im_start|>user\n")
        self.tail = self.ids("<|im_end|>\n<|im_start|>assistant\n")

    def ids(self, text: str) -> list[int]:
        return self.tokenizer.encode(text).ids

    def sheet(self, s: Sheet) -> dict:
        prefix = self.head + self.ids(s.evidence)
        questions = [self.ids(q) + self.tail for q, _ in s.questions]
        answers = [self.tokenizer.token_to_id(a) for _, a in s.questions]
        return {"prefix": prefix, "questions": questions, "answers": answers, "sheet": s,
                "length": len(prefix) + sum(map(len, questions))}


def collate(items: list[dict]) -> dict:
    size = max(i["length"] for i in items)
    n = len(items)
    ids, positions = torch.zeros(n, size, dtype=torch.long), torch.zeros(n, size)
    part = torch.full((n, size), -1)
    answer_at, answers = [], []
    for b, item in enumerate(items):
        p = len(item["prefix"])
        ids[b, :p], positions[b, :p], part[b, :p] = torch.tensor(item["prefix"]), torch.arange(p).float(), 0
        at = p
        for k, (q, a) in enumerate(zip(item["questions"], item["answers"], strict=True), 1):
            ids[b, at:at + len(q)], part[b, at:at + len(q)] = torch.tensor(q), k
            positions[b, at:at + len(q)] = torch.arange(p, p + len(q)).float()
            at += len(q)
            answer_at.append((b, at - 1))
            answers.append(a)
    same = (part[:, None, :] == part[:, :, None]) | (part[:, None, :] == 0)
    mask = same & torch.ones(size, size, dtype=torch.bool).tril() & (part[:, None, :] >= 0)
    mask |= torch.eye(size, dtype=torch.bool)
    return {"ids": ids, "positions": positions, "mask": mask[:, None], "answer_at": torch.tensor(answer_at),
            "answers": torch.tensor(answers)}


@torch.no_grad()
def below(model: Pico, items: list[dict], words: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """States of the answer positions before the last MLP, (n, HIDDEN), and the right tokens, (n,).

    As the model starts, its first two blocks look back a few tokens only, the third matters at answers and at the
    words that the fourth looks for, and no MLP but the last gives anything: so that is all that is computed.
    """
    batch = collate(items)
    ids, mask = batch["ids"], batch["mask"][:, 0]
    n, size = ids.shape
    x = model.embed_tokens(ids)
    for layer in model.layers[:2]:
        x = x + nearby(layer, x)
    b, t = batch["answer_at"].T
    worth = torch.zeros(n, size, dtype=torch.bool)
    worth[b, t] = True
    worth |= torch.isin(ids, words)
    cos, sin = turns(batch["positions"])
    for k, layer in enumerate(model.layers[2:]):
        wanted = worth if k == 0 else torch.zeros_like(worth).index_put_((b, t), torch.tensor(True))
        x = x + selected(layer, x, mask, cos, sin, wanted)
    return x[b, t], batch["answers"]


def nearby(layer: Block, x: torch.Tensor, window: int = 16) -> torch.Tensor:
    """Attention over the last ``window`` tokens, (n, t, HIDDEN)."""
    n, t, _ = x.shape
    a, h = layer.self_attn, layer.input_layernorm(x)
    cos, sin = turns(torch.arange(t).float()[None])
    q = rotate(a.q_norm(a.q_proj(h).view(n, t, HEADS, DIM)).transpose(1, 2), cos, sin).transpose(1, 2)
    k = rotate(a.k_norm(a.k_proj(h)), cos[:, 0], sin[:, 0])
    k, v = (F.pad(y, (0, 0, window - 1, 0)).unfold(1, window, 1) for y in (k, a.v_proj(h)))  # (n, t, DIM, window)
    scores = torch.einsum("nthd,ntdw->nthw", q, k) / DIM**0.5
    there = torch.arange(window) >= (window - 1 - torch.arange(t))[:, None]
    weights = scores.masked_fill(~there[:, None], -1e9).softmax(-1)
    return a.o_proj(torch.einsum("nthw,ntdw->nthd", weights, v).reshape(n, t, -1))


def selected(layer: Block, x: torch.Tensor, mask, cos, sin, wanted: torch.Tensor) -> torch.Tensor:
    """Attention of the ``wanted`` (n, t) positions over all that their mask allows; zero elsewhere."""
    a, h = layer.self_attn, layer.input_layernorm(x)
    k = rotate(a.k_norm(a.k_proj(h)), cos[:, 0], sin[:, 0])
    v, out = a.v_proj(h), torch.zeros_like(x)
    for i in range(len(x)):
        at = wanted[i].nonzero()[:, 0]
        q = rotate(a.q_norm(a.q_proj(h[i, at]).view(len(at), HEADS, DIM)), cos[i, 0, at][:, None], sin[i, 0, at][:, None])
        scores = (q.transpose(0, 1) @ k[i].T) / DIM**0.5
        weights = scores.masked_fill(~mask[i, at], -1e9).softmax(-1)
        out[i, at] = a.o_proj((weights @ v[i]).transpose(0, 1).reshape(len(at), -1))
    return out


def make_states(model: Pico, encoder: Encoder, pool: Pool, count: int, path: Path) -> tuple:
    """At least ``count`` states with their right tokens, kept at ``path``."""
    held = torch.load(path, weights_only=True) if path.exists() else []
    vocabulary, source = encoder.tokenizer.get_vocab(), pool.sheets()
    words = torch.tensor([i for i in range(len(vocabulary)) if model.embed_tokens.weight[i, 21:23].abs().sum() > 0])
    while sum(len(right) for _, right in held) < count:
        for _ in range(16):
            stock = sorted((encoder.sheet(next(source)) for _ in range(64)), key=lambda i: i["length"])
            held += [below(model, stock[start : start + 8], words) for start in range(0, 64, 8)]
        torch.save(held, path)
        print(f"{sum(len(right) for _, right in held):,} states", flush=True)
    x, right = (torch.cat(y) for y in zip(*held, strict=True))
    return x, right


def train_last(model: Pico, tokenizer, x: torch.Tensor, right: torch.Tensor, steps: int, rate: float, log) -> None:
    """Train the last MLP, the norms around it and the letters' embeddings on states that are computed once.

    The blocks below start as what reading a table takes, so this is enough and a thousand times cheaper than training
    all. ``SMOOTH`` keeps the model from growing so sure that an adapter could not change its mind.
    """
    letters = torch.tensor([tokenizer.token_to_id(c) for c in "ABCDE"])
    place = torch.full((model.embed_tokens.weight.shape[0],), -1)
    place[letters] = torch.arange(5)
    keep = torch.zeros(model.embed_tokens.weight.shape[0], 1)
    keep[letters] = 1
    layer = model.layers[-1]
    parameters = [*layer.mlp.parameters(), layer.post_attention_layernorm.weight, model.norm.weight,
                  model.embed_tokens.weight]
    # the other tokens' embeddings must stay as they are, so there is no decay on them
    optimizer = torch.optim.AdamW([{"params": parameters[:-1], "weight_decay": 0.03},
                                   {"params": parameters[-1:], "weight_decay": 0}], lr=rate, betas=(0.9, 0.98))
    test = torch.arange(len(x)) % 20 == 0
    train_at = (~test).nonzero()[:, 0]

    def logits(y):
        z = layer.post_attention_layernorm(y)
        y = y + layer.mlp.down_proj(F.silu(layer.mlp.gate_proj(z)) * layer.mlp.up_proj(z))
        return model.norm(y) @ model.embed_tokens.weight.T

    for step in range(1, steps + 1):
        now = rate * min(1, step / 50) * (0.01 + 0.99 * (1 - step / steps))
        for group in optimizer.param_groups:
            group["lr"] = now
        chosen = train_at[torch.randint(len(train_at), (256,))]
        noisy = x[chosen] * (1 + 0.04 * torch.randn(256, HIDDEN))
        target = torch.full((256, 5), SMOOTH).scatter_(1, place[right[chosen]][:, None], 1 - 4 * SMOOTH)
        loss = -(target * logits(noisy).log_softmax(-1)[:, letters]).sum(-1).mean()
        optimizer.zero_grad()
        loss.backward()
        model.embed_tokens.weight.grad *= keep
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        if step % 1000 == 0:
            with torch.no_grad():
                said = logits(x[test])
                line = {"step": step, "loss": round(loss.item(), 3),
                        "held_out_loss": round(F.cross_entropy(said, right[test]).item(), 3),
                        "held_out": round((said.argmax(-1) == right[test]).float().mean().item(), 3)}
            log(line)


KINDS = {"full range": "sufficiency", "only the range": "scope", "filter is needed": "specification",
         "lowest": "minimum", "highest": "maximum", "Which spectrum": "compare", "than": "threshold"}


def kind_of(question: str) -> str:
    for word, kind in KINDS.items():
        if word in question:
            return kind
    return "?"


@torch.no_grad()
def evaluate(model: Pico, items: list[dict]) -> dict[str, float]:
    right: dict[str, list[int]] = {}
    for start in range(0, len(items), 8):
        group = items[start:start + 8]
        batch = collate(group)
        hidden = model(batch["ids"], batch["positions"], batch["mask"])
        b, t = batch["answer_at"].T
        said = (hidden[b, t] @ model.embed_tokens.weight.T).argmax(-1) == batch["answers"]
        kinds = [(kind_of(q), len(i["sheet"].axis)) for i in group for q, _ in i["sheet"].questions]
        for (kind, n), ok in zip(kinds, said.tolist(), strict=True):
            right.setdefault(f"{kind}{n}", []).append(ok)
    return {k: round(float(np.mean(v)), 3) for k, v in sorted(right.items())}


def export(model: Pico, tokenizer, folder: Path) -> None:
    """bf16 safetensors, config and tokenizer, as transformers, vLLM and the numpy runtime read them.

    Words that the tokenizer gains here are never asked for: their embeddings are zero.
    """
    from safetensors.torch import save_file

    tokenizer = with_words(tokenizer)
    save(tokenizer, folder)
    state = model.state_dict()
    known = state["embed_tokens.weight"]
    state["embed_tokens.weight"] = F.pad(known, (0, 0, 0, tokenizer.get_vocab_size() - len(known)))
    save_file({f"model.{k}": v.to(torch.bfloat16).contiguous() for k, v in state.items()},
              folder / "model.safetensors", {"format": "pt"})
    config = {
        "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "vocab_size": tokenizer.get_vocab_size(),
        "hidden_size": HIDDEN, "intermediate_size": MLP, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
        "num_key_value_heads": KV, "head_dim": DIM, "hidden_act": "silu", "max_position_embeddings": 2048,
        "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "attention_bias": False, "tie_word_embeddings": True,
        "pad_token_id": 0, "eos_token_id": 2, "bos_token_id": None, "torch_dtype": "bfloat16",
        "use_sliding_window": False, "max_window_layers": LAYERS,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "pico", help="tokenizer, states and log")
    parser.add_argument("--out", type=Path, required=True, help="write the finished model here")
    parser.add_argument("--states", type=int, default=150_000, help="answers to learn from, about four a table")
    parser.add_argument("--steps", type=int, default=18_000, help="of 256 answers")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--weights", default="0.4,0.3,0.1,0.1,0.1", help="of one, two, three dips, one and two peaks")
    parser.add_argument("--coarse", type=float, default=0.2, help="share of tables with every other row")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    args.work.mkdir(parents=True, exist_ok=True)
    path = args.work / "tokenizer.json"
    if not path.exists():
        train(ROOT / "specs").save(str(path))
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    encoder, specs = Encoder(tokenizer), load_specs(ROOT / "specs")
    model = Pico(tokenizer.get_vocab_size())
    model.prepare(tokenizer.get_vocab())
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters", flush=True)

    def log(line: dict) -> None:
        print(json.dumps(line), flush=True)
        with (args.work / "log.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")

    pool = Pool(specs, 1000, tuple(map(float, args.weights.split(","))), args.coarse)
    x, right = make_states(model, encoder, pool, args.states, args.work / "states.pt")
    train_last(model, tokenizer, x, right, args.steps, 0.003, log)
    held_out = Pool(specs, 7, (0.4, 0.3, 0.1, 0.2, 0.0)).sheets()
    log(evaluate(model, [encoder.sheet(next(held_out)) for _ in range(96)]))
    export(model, tokenizer, args.out)
    print(f"{args.out}: {(args.out / 'model.safetensors').stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
