"""The network of ``pico``, in torch, as it starts: Qwen3's layers, the first three of which can read a table already.

Learning to read numbers from tables costs hours on a laptop and teaches nothing about what is asked. So it is written
down instead: :meth:`Pico.prepare` sets the attention of the first three blocks. Their MLPs give nothing to begin with.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

HIDDEN, LAYERS, HEADS, KV, DIM, MLP = 192, 4, 4, 1, 64, 640
ASKED = ("Question", "lowest", "highest", "longer", "shorter", "lower", "higher")
"""What a token of a question holds, if it says what is asked."""
SHARP = 10.0


def turns(positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosine and sine of the rotary angles, (n, 1, t, DIM)."""
    angle = positions[:, None, :, None] * 10000.0 ** (-torch.arange(0, DIM, 2) / DIM)
    angle = torch.cat((angle, angle), -1)
    return angle.cos(), angle.sin()


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
        e[[token_to_id(c) for c in "ABCDE"], 60:] *= 4
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
        a.o_proj.weight *= 3
        a.o_proj.weight[:, 2 * DIM :] = 0
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
        x = self.embed_tokens(ids)
        for layer in self.layers:
            x = layer(x, mask, cos, sin)
        return self.norm(x)
