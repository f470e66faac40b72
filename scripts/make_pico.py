"""Base-train ``pico``, a decision model of 2.3 M parameters, from scratch and write it for the package.

    python scripts/make_pico.py --minutes 60 --work build/pico     # continues where it stopped; needs the train extra

Architecture: Qwen3 (5 layers, hidden 192, 4 heads of 64 with 1 key-value head, MLP 512, tied embeddings), so that
transformers and vLLM (``/v1/systemone`` too) take it as it is. Pool: ``pico_pool.py``; no structure of any dataset.

Three things make minutes on a laptop enough. Questions about one table share its tokens: they stand behind it one after
another, each seeing the table and itself only. While it trains, two auxiliary readers at the end of every table row
must tell the row's numbers (after block 2) and where each column's lowest and highest value so far lies (after block
3); they are thrown away afterwards. And the first three blocks start as what reading a table takes (``Pico.prepare``):
digits that are numbers, rows whose end knows its numbers, attention to the lowest and the highest row. Everything is
trained from there.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np
import torch
from pico_pool import Pool, Sheet, load_specs
from pico_tokenizer import save, train
from torch import nn
from torch.nn import functional as F

ROOT = Path(__file__).resolve().parents[1]
HIDDEN, LAYERS, HEADS, KV, DIM, MLP = 192, 4, 4, 1, 64, 640
ASKED = ("Question", "lowest", "highest", "longer", "shorter", "lower", "higher")
SHARP = 10.0
BINS = np.arange(450.0, 801.0, 5.0)


class Norm(nn.Module):
    def __init__(self, size: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return F.rms_norm(x, self.weight.shape, self.weight, 1e-6)


class Block(nn.Module):
    """One Qwen3 layer."""

    def __init__(self):
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = Norm(HIDDEN), Norm(HIDDEN)
        self.self_attn, self.mlp = nn.Module(), nn.Module()
        a, m = self.self_attn, self.mlp
        a.q_proj, a.k_proj = nn.Linear(HIDDEN, HEADS * DIM, bias=False), nn.Linear(HIDDEN, KV * DIM, bias=False)
        a.v_proj, a.o_proj = nn.Linear(HIDDEN, KV * DIM, bias=False), nn.Linear(HEADS * DIM, HIDDEN, bias=False)
        a.q_norm, a.k_norm = Norm(DIM), Norm(DIM)
        m.gate_proj, m.up_proj = nn.Linear(HIDDEN, MLP, bias=False), nn.Linear(HIDDEN, MLP, bias=False)
        m.down_proj = nn.Linear(MLP, HIDDEN, bias=False)

    def forward(self, x, mask, cos, sin):
        b, t, _ = x.shape
        a, h = self.self_attn, self.input_layernorm(x)
        q = rotate(a.q_norm(a.q_proj(h).view(b, t, HEADS, DIM)).transpose(1, 2), cos, sin)
        k = rotate(a.k_norm(a.k_proj(h).view(b, t, KV, DIM)).transpose(1, 2), cos, sin)
        v = a.v_proj(h).view(b, t, KV, DIM).transpose(1, 2)
        k, v = (y.repeat_interleave(HEADS // KV, 1) for y in (k, v))
        o = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + a.o_proj(o.transpose(1, 2).reshape(b, t, -1))
        h = self.post_attention_layernorm(x)
        return x + self.mlp.down_proj(F.silu(self.mlp.gate_proj(h)) * self.mlp.up_proj(h))


def rotate(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin


class Pico(nn.Module):
    def __init__(self, vocabulary: int):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocabulary, HIDDEN)
        self.layers = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = Norm(HIDDEN)
        for p in self.parameters():
            if p.ndim == 2:
                nn.init.normal_(p, std=0.02 if p is self.embed_tokens.weight else p.shape[1] ** -0.5)
        for layer in self.layers:
            layer.self_attn.o_proj.weight.data *= 0.1
            nn.init.zeros_(layer.mlp.down_proj.weight)

    @torch.no_grad()
    def prepare(self, vocabulary: dict[str, int]) -> None:
        """Start where digits are numbers already, so that training need not find that out.

        Residual dimensions: 0 constant, 1 value of a digit, 2 digit, 3 end of a line, 4 lead of a response, 19 lead of
        one that starts with 1; then 10 the three digits before this token as a fraction, 14 the digit five places back
        (the leading one of an axis value), 18 whether a digit stands before; 11-13 and 15-17 numbers and digits as
        they stood 4, 8 and 12 tokens back, at the end of a row its other columns. 21 and 22 mark words, see
        ``look_for_words``; 24-59 hold what ``look_for_extremes`` finds.
        """
        token_to_id = vocabulary.__getitem__
        e = self.embed_tokens.weight
        e[:, :60] = 0
        e[:, 0] = 0.3
        for d in range(10):
            e[token_to_id(str(d)), 1], e[token_to_id(str(d)), 2] = 0.3 * d / 9, 0.3
            e[token_to_id(str(d)), 20] = 0.3 * (1 - (d / 9) ** 2) ** 0.5  # all digits are of one length
        for name, at in (("\u010a", 3), ("\u010a\u010a", 3), (",0.", 4), (",1.", 4), (",1.", 19)):
            e[token_to_id(name), at] = 0.3
        first, second = self.layers[0], self.layers[1]
        self.look_back(first, (1, 2, 3, 5))
        self.look_back(second, (4, 8, 12, 1))
        for layer in (first, second):
            layer.self_attn.o_proj.weight.zero_()
        v, o = first.self_attn.v_proj.weight, first.self_attn.o_proj.weight
        v[0] = 0
        v[0, 1] = 1
        for h, share in enumerate((0.001, 0.01, 0.1)):
            o[10, h * DIM] = 0.15 * share
        o[14, 3 * DIM] = 0.015
        v[1] = 0
        v[1, 2] = 1
        o[18, DIM * 0 + 1] = 0.04
        v, o = second.self_attn.v_proj.weight, second.self_attn.o_proj.weight
        v[:3] = 0
        v[0, 10] = v[1, 14] = v[2, 19] = 1
        o[10, 2] = 0.0155  # a response that starts with 1
        for h in range(3):
            o[11 + h, h * DIM] = o[15 + h, h * DIM + 1] = 0.037
        self.look_for_extremes(self.layers[2])
        self.look_for_words(self.layers[3], vocabulary)

    def look_for_extremes(self, layer: Block) -> None:
        """Start the heads of a layer as the row ends with the lowest and highest last column, and the lowest others.

        In the slowest rotary pairs, which hardly turn over a table, a key holds the row's numbers, a constant, and what
        tells a row's end from other tokens; queries are constant.
        """
        a = layer.self_attn
        a.q_proj.weight *= 0.02
        a.k_proj.weight *= 0.02
        k, slot = a.k_proj.weight, [DIM // 2 - 1 - i for i in range(6)]
        k[slot[0], 0] = 1.0  # a constant, which keeps the length of a key the same whatever the numbers are
        for column in range(3):
            k[slot[1 + column], 10 + column] = 1.3
        k[slot[4], 0], k[slot[4], 3] = 1.0, -1.0  # no end of a line
        k[slot[5], 3], k[slot[5], 18] = 0.3, -0.3  # an end of a line without a digit before
        for h, (column, sign) in enumerate(((0, -1), (0, 1), (1, -1), (2, -1))):
            a.q_proj.weight[h * DIM + slot[1 + column], 0] = sign
            a.q_proj.weight[h * DIM + slot[4], 0] = -0.6
            a.q_proj.weight[h * DIM + slot[5], 0] = -1.0
        a.q_norm.weight.fill_(SHARP)
        a.k_norm.weight.fill_(SHARP)
        a.v_proj.weight *= 0.1
        a.v_proj.weight[:9] = 0
        a.o_proj.weight.zero_()
        for i in range(9):  # what the row found knows, a place for each head
            a.v_proj.weight[i, 10 + i] = 1.0
            a.v_proj.weight[i, 0] = -0.2 if i < 8 else -1.0  # about its mean
            for h in range(HEADS):
                a.o_proj.weight[24 + 9 * h + i, h * DIM + i] = 0.2 if 1 <= i <= 3 else 0.1

    def look_for_words(self, layer: Block, vocabulary: dict[str, int]) -> None:
        """Start one head of a layer as the tokens that say what is asked, another as the header of the table."""
        a, e = layer.self_attn, self.embed_tokens.weight
        asked = [i for t, i in vocabulary.items() if any(w in t for w in ASKED) and len(t) > 8]
        heads = [i for t, i in vocabulary.items() if t.startswith(("wavelength_", "photon_energy_"))]
        slot = [DIM // 2 - 1 - i for i in range(3)]
        a.k_proj.weight[slot[0], 0] = 1.0
        for k, (tokens, dim) in enumerate(((asked, 21), (heads, 22))):
            e[tokens, 60:] *= 4
            e[tokens, dim] = 0.6
            a.k_proj.weight[slot[1 + k]] = 0
            a.k_proj.weight[slot[1 + k], dim] = 2.0
            a.q_proj.weight[k * DIM : (k + 1) * DIM] *= 0.1
            a.q_proj.weight[k * DIM + slot[1 + k], 0] = 1.0
        a.q_norm.weight.fill_(3.0)

    def look_back(self, layer: Block, offsets: tuple[int, ...], pairs: int = 14) -> None:
        """Start the heads of a layer as "the token so many places back".

        Queries and keys are made of the constant alone, in the fastest ``pairs`` rotary frequencies, the query turned
        back by the offset.
        """
        turn = 10000.0 ** (-torch.arange(0, DIM, 2) / DIM)
        a = layer.self_attn
        a.q_proj.weight *= 0.1
        a.k_proj.weight *= 0.1
        a.k_proj.weight[:pairs, 0] = 1
        for h, offset in enumerate(offsets):
            a.q_proj.weight[h * DIM : h * DIM + pairs, 0] = torch.cos(offset * turn[:pairs])
            a.q_proj.weight[h * DIM + DIM // 2 : h * DIM + DIM // 2 + pairs, 0] = -torch.sin(offset * turn[:pairs])
        a.q_norm.weight.fill_(10.0)

    def forward(self, ids, positions, mask):
        cos, sin = turns(positions)
        x, seen = self.embed_tokens(ids), []
        for layer in self.layers:
            x = layer(x, mask, cos, sin)
            seen.append(x)
        return self.norm(x), seen


class Readers(nn.Module):
    """Auxiliary readers of row ends; not part of the model."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = Norm(HIDDEN), Norm(HIDDEN)
        self.numbers, self.extremes = nn.Linear(HIDDEN, 4), nn.Linear(HIDDEN, 6 * len(BINS))

    def forward(self, seen, batch):
        if not len(batch["row_at"]):
            return torch.zeros(()), torch.zeros(())
        b, t = batch["row_at"].T
        said = self.numbers(self.norm1(seen[1][b, t]))
        known = batch["numbers"].isfinite()
        numbers = F.smooth_l1_loss(said[known], batch["numbers"][known], beta=0.05)
        logits = self.extremes(self.norm2(seen[2][b, t])).view(-1, 6, len(BINS)).transpose(1, 2)
        return numbers, F.cross_entropy(logits, batch["extremes"], ignore_index=-1)


class Encoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.head = self.ids("<|im_start|>user\n")
        self.tail = self.ids("<|im_end|>\n<|im_start|>assistant\n")
        self.newlines = {tokenizer.token_to_id(t) for t in ("Ċ", "ĊĊ")}

    def ids(self, text: str) -> list[int]:
        return self.tokenizer.encode(text).ids

    def sheet(self, s: Sheet, asked: bool = True) -> dict:
        prefix = self.head + self.ids(s.evidence)
        ends = [i for i, t in enumerate(prefix) if t in self.newlines][-len(s.axis):]
        questions = [self.ids(q) + self.tail for q, _ in s.questions if asked]
        answers = [self.tokenizer.token_to_id(a) for _, a in s.questions if asked]
        return {"prefix": prefix, "ends": ends, "questions": questions, "answers": answers, "sheet": s,
                "length": len(prefix) + sum(map(len, questions))}


def collate(items: list[dict]) -> dict:
    size = max(i["length"] for i in items)
    n = len(items)
    ids, positions = torch.zeros(n, size, dtype=torch.long), torch.zeros(n, size)
    part = torch.full((n, size), -1)
    answer_at, answers, row_at, numbers, extremes = [], [], [], [], []
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
        s = item["sheet"]
        for j, end in enumerate(item["ends"]):
            row_at.append((b, end))
            values = [float(c[j]) for c in s.columns]
            numbers.append([(s.axis[j] - 590) / 100, *values, *[math.nan] * (3 - len(values))])
            spots = [s.axis[f(c[:j + 1])] for c in s.columns for f in (np.argmin, np.argmax)]
            extremes.append([round((x - 450) / 5) for x in spots] + [-1] * (6 - len(spots)))
    same = (part[:, None, :] == part[:, :, None]) | (part[:, None, :] == 0)
    mask = same & torch.ones(size, size, dtype=torch.bool).tril() & (part[:, None, :] >= 0)
    mask |= torch.eye(size, dtype=torch.bool)
    return {"ids": ids, "positions": positions, "mask": mask[:, None], "answer_at": torch.tensor(answer_at),
            "answers": torch.tensor(answers), "row_at": torch.tensor(row_at), "numbers": torch.tensor(numbers),
            "extremes": torch.tensor(extremes)}


def batches(pool: Pool, encoder: Encoder, tokens: int, asked: bool):
    """Sheets of like length together, about ``tokens`` a batch; tables alone unless ``asked``."""
    source = pool.sheets()
    while True:
        stock = sorted((encoder.sheet(next(source), asked) for _ in range(64)), key=lambda i: i["length"])
        groups, group = [], []
        for item in stock:
            if group and (len(group) + 1) * item["length"] > tokens:
                groups.append(group)
                group = []
            group.append(item)
        groups.append(group)
        for k in pool.rng.permutation(len(groups)):
            yield groups[k]


KINDS = {"full range": "sufficiency", "only the range": "scope", "filter is needed": "specification",
         "lowest": "minimum", "highest": "maximum", "Which spectrum": "compare", "than": "threshold"}


@torch.no_grad()
def below(model: Pico, items: list[dict]) -> list[dict]:
    """What the last block gets: states after the blocks below it, a dict for each sheet. They stay as they are."""
    batch = collate(items)
    cos, sin = turns(batch["positions"])
    x = model.embed_tokens(batch["ids"])
    for layer in model.layers[:-1]:
        x = layer(x, batch["mask"], cos, sin)
    out = []
    for b, item in enumerate(items):
        own = batch["answer_at"][:, 0] == b
        at = batch["answer_at"][own, 1]
        n = item["length"]
        out.append({"x": x[b, :n].half(), "positions": batch["positions"][b, :n], "at": at,
                    "mask": batch["mask"][b, 0, at, :n], "answers": batch["answers"][own]})
    return out


def head_logits(model: Pico, chosen: list[dict]) -> torch.Tensor:
    """Logits of every answer position of these sheets: the last block, run for those positions alone."""
    size, most = max(len(c["x"]) for c in chosen), max(len(c["at"]) for c in chosen)
    n = len(chosen)
    x, positions = torch.zeros(n, size, HIDDEN), torch.zeros(n, size)
    mask, at = torch.zeros(n, most, size, dtype=torch.bool), torch.zeros(n, most, dtype=torch.long)
    for i, c in enumerate(chosen):
        x[i, : len(c["x"])], positions[i, : len(c["x"])] = c["x"].float(), c["positions"]
        mask[i, : len(c["at"]), : len(c["x"])], at[i, : len(c["at"])] = c["mask"], c["at"]
    mask[:, :, 0] = True
    layer = model.layers[-1]
    a, h = layer.self_attn, layer.input_layernorm(x)
    cos, sin = turns(positions)
    rows = torch.arange(n)[:, None]
    own, own_cos, own_sin = h[rows, at], cos[rows, 0, at][:, None], sin[rows, 0, at][:, None]
    q = rotate(a.q_norm(a.q_proj(own).view(n, most, HEADS, DIM)).transpose(1, 2), own_cos, own_sin)
    k = rotate(a.k_norm(a.k_proj(h).view(n, size, KV, DIM)).transpose(1, 2), cos, sin)
    v = a.v_proj(h).view(n, size, KV, DIM).transpose(1, 2)
    o = ((q @ k.transpose(-1, -2)) / DIM**0.5).masked_fill(~mask[:, None], -1e9).softmax(-1) @ v
    y = x[rows, at] + a.o_proj(o.transpose(1, 2).reshape(n, most, -1))
    z = layer.post_attention_layernorm(y)
    y = y + layer.mlp.down_proj(F.silu(layer.mlp.gate_proj(z)) * layer.mlp.up_proj(z))
    there = torch.cat([torch.arange(len(c["at"])) + i * most for i, c in enumerate(chosen)])
    return model.norm(y).view(n * most, HIDDEN)[there] @ model.embed_tokens.weight.T


def train_head(model: Pico, encoder: Encoder, pool: Pool, minutes: float, rate: float, report) -> None:
    """Train the last block, the final norm and the letters' embeddings on states that are computed once.

    The blocks below start as what reading a table takes, so this is enough to begin with and a hundred times cheaper.
    """
    letters = torch.tensor([encoder.tokenizer.token_to_id(c) for c in "ABCDE"])
    with torch.no_grad():
        model.embed_tokens.weight[letters, 60:] *= 4
    keep = torch.zeros(model.embed_tokens.weight.shape[0], 1)
    keep[letters] = 1
    parameters = [*model.layers[-1].parameters(), *model.norm.parameters(), model.embed_tokens.weight]
    optimizer = torch.optim.Adam(parameters, lr=rate, betas=(0.9, 0.98))
    source, held, begun, told, step = pool.sheets(), [], time.time(), time.time(), 0
    losses: list[float] = []
    while (share := (time.time() - begun) / (60 * minutes)) < 1:
        if step % 12 == 0 and len(held) < 6000:
            stock = sorted((encoder.sheet(next(source)) for _ in range(32)), key=lambda i: i["length"])
            for start in range(0, len(stock), 8):
                held += below(model, stock[start : start + 8])
        fall = 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * share))
        optimizer.param_groups[0]["lr"] = rate * min(1, (step + 1) / 30) * fall
        chosen = [held[i] for i in pool.rng.choice(len(held), min(24, len(held)), replace=False)]
        loss = F.cross_entropy(head_logits(model, chosen), torch.cat([c["answers"] for c in chosen]))
        optimizer.zero_grad()
        loss.backward()
        model.embed_tokens.weight.grad *= keep
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        losses.append(loss.item())
        step += 1
        if time.time() - told > 60:
            report({"step": step, "sheets": len(held), "loss": round(float(np.mean(losses[-100:])), 3)})
            told = time.time()


def turns(positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosine and sine of the rotary angles, (n, 1, t, DIM)."""
    angle = positions[:, None, :, None] * 10000.0 ** (-torch.arange(0, DIM, 2) / DIM)
    angle = torch.cat((angle, angle), -1)
    return angle.cos(), angle.sin()


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
        hidden, _ = model(batch["ids"], batch["positions"], batch["mask"])
        b, t = batch["answer_at"].T
        said = (hidden[b, t] @ model.embed_tokens.weight.T).argmax(-1) == batch["answers"]
        kinds = [(kind_of(q), len(i["sheet"].axis)) for i in group for q, _ in i["sheet"].questions]
        for (kind, n), ok in zip(kinds, said.tolist(), strict=True):
            right.setdefault(f"{kind}{n}", []).append(ok)
    return {k: round(float(np.mean(v)), 3) for k, v in sorted(right.items())}


def export(model: Pico, tokenizer, folder: Path) -> None:
    """bf16 safetensors, config and tokenizer, as transformers, vLLM and the numpy runtime read them."""
    from safetensors.torch import save_file

    save(tokenizer, folder)
    names = {k: f"model.{k}" for k in model.state_dict()}
    save_file({names[k]: v.to(torch.bfloat16).contiguous() for k, v in model.state_dict().items()},
              folder / "model.safetensors", {"format": "pt"})
    config = {
        "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "vocab_size": model.embed_tokens.num_embeddings,
        "hidden_size": HIDDEN, "intermediate_size": MLP, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
        "num_key_value_heads": KV, "head_dim": DIM, "hidden_act": "silu", "max_position_embeddings": 2048,
        "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "attention_bias": False, "tie_word_embeddings": True,
        "pad_token_id": 0, "eos_token_id": 2, "bos_token_id": None, "torch_dtype": "bfloat16",
        "use_sliding_window": False, "max_window_layers": LAYERS,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "pico")
    parser.add_argument("--out", type=Path, help="write the finished model here")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--coarse", type=float, default=0.0, help="share of tables with every other row")
    parser.add_argument("--views", default="table_nm,table_um,table_sci,table_ev,table_ev,table_ev_desc")
    parser.add_argument("--head", type=float, default=8, metavar="MINUTES", help="first train the last block alone")
    parser.add_argument("--tables-only", action="store_true", help="the auxiliary readers alone")
    parser.add_argument("--tokens", type=int, default=4000, help="tokens a step")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--weights", default="0.5,0.32,0.1,0.08,0.0")
    parser.add_argument("--lr", type=float, default=0.0015)
    parser.add_argument("--floor", type=float, default=0.02, help="the learning rate falls to this share at the end")
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
    model, readers = Pico(tokenizer.get_vocab_size()), Readers()
    model.prepare(tokenizer.get_vocab())
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters", flush=True)
    parameters = [*model.parameters(), *readers.parameters()]
    rates = [args.lr, 8 * args.lr]
    optimizer = torch.optim.AdamW([{"params": list(model.parameters()), "lr": rates[0]},
                                   {"params": list(readers.parameters()), "lr": rates[1]}],
                                  betas=(0.9, 0.98), weight_decay=0)
    state = args.work / "state.pt"
    step = 0
    if state.exists():
        held = torch.load(state, weights_only=True)
        model.load_state_dict(held["model"])
        readers.load_state_dict(held["readers"])
        optimizer.load_state_dict(held["optimizer"])
        step = held["step"]
    views = tuple(args.views.split(","))
    pool = Pool(specs, seed=1000 + step, weights=tuple(map(float, args.weights.split(","))),
                coarse=args.coarse, views=views)
    held_out = Pool(specs, seed=7, weights=(0.4, 0.3, 0.1, 0.2, 0.0), views=views).sheets()
    check = [encoder.sheet(next(held_out)) for _ in range(40)]
    log = (args.work / "log.jsonl").open("a")

    def report(line: dict) -> None:
        line.update({} if args.tables_only else evaluate(model, check))
        print(json.dumps(line), flush=True)
        log.write(json.dumps(line) + "\n")
        log.flush()
        torch.save({"model": model.state_dict(), "readers": readers.state_dict(), "step": step,
                    "optimizer": optimizer.state_dict()}, state.with_suffix(".part"))
        state.with_suffix(".part").replace(state)

    if step == 0 and args.head:
        train_head(model, encoder, pool, args.head, 0.003, report)
    begun, logged, first = time.time(), time.time(), step
    sums = np.zeros(4)
    for items in batches(pool, encoder, args.tokens, not args.tables_only):
        share = (time.time() - begun) / (60 * args.minutes)
        if share >= 1:
            break
        fall = args.floor + (1 - args.floor) * 0.5 * (1 + math.cos(math.pi * share))
        scale = min(1, (step - first + 1) / 50) * fall
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * scale
        batch = collate(items)
        hidden, seen = model(batch["ids"], batch["positions"], batch["mask"])
        loss = torch.zeros(())
        if len(batch["answers"]):
            b, t = batch["answer_at"].T
            loss = F.cross_entropy(hidden[b, t] @ model.embed_tokens.weight.T, batch["answers"])
        numbers, extremes = readers(seen, batch)
        (loss + 5 * numbers + 0.5 * extremes).backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        sums += [loss.item(), numbers.item(), extremes.item(), 1]
        if time.time() - logged > 100:
            report({"step": step, "minutes": round((time.time() - begun) / 60, 1), "loss": round(sums[0] / sums[3], 3),
                    "numbers": round(sums[1] / sums[3], 4), "extremes": round(sums[2] / sums[3], 3)})
            sums[:], logged = 0, time.time()
    if args.out:
        export(model, tokenizer, args.out)
        print(f"{args.out}: {(args.out / 'model.safetensors').stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
