"""A transformer decoder in numpy, float32: the architectures of Qwen3 and Llama, exact distributions over the next token.

Positions are evaluated in chunks of :data:`CHUNK`, at the same boundaries whatever is cached. A chunk is either taken from
the cache whole or evaluated with the same shapes as ever, so a request's numbers are the same, bit for bit, whatever was
asked before it. Requests that share their evidence cost their question only.

Weights carry the names of transformers' checkpoints; no biases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import BackendError

Floats = npt.NDArray[np.float32]
CHUNK = 64


@dataclass(frozen=True, slots=True)
class Shape:
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    theta: float
    """Base of the rotary position embedding."""
    epsilon: float
    """Of the root-mean-square norms."""
    context: int
    """Positions that can be read."""


class Cache:
    """Ids that were evaluated, and the keys and values of their whole chunks; one a thread of evaluation."""

    def __init__(self, shape: Shape) -> None:
        self.ids: list[int] = []
        size = (shape.layers, shape.kv_heads, shape.context, shape.head_dim)
        self.k, self.v = np.empty(size, np.float32), np.empty(size, np.float32)  # pages are taken when they are written

    def common(self, ids: Sequence[int]) -> int:
        """Number of leading ids that it shares."""
        n = 0
        while n < min(len(ids), len(self.ids)) and ids[n] == self.ids[n]:
            n += 1
        return n


class Decoder:
    """The weights, shared by any number of threads, each with a :class:`Cache`.

    Args:
        weights: name -> array as in a checkpoint, projections (outputs, inputs).
    """

    def __init__(self, shape: Shape, weights: Mapping[str, Floats]) -> None:
        self.shape = shape
        weights = {k: w.astype(np.float32, copy=False) for k, w in weights.items()}
        self.embedding, self.norm = weights["model.embed_tokens.weight"], weights["model.norm.weight"]
        self.output = weights.get("lm_head.weight", self.embedding).T
        self.layers = []
        for i in range(shape.layers):
            names = {n.removeprefix(f"model.layers.{i}.").removesuffix(".weight"): n for n in weights
                     if n.startswith(f"model.layers.{i}.")}
            self.layers.append({k: weights[n].T for k, n in names.items()})
        self.frequency = 1.0 / shape.theta ** (np.arange(0, shape.head_dim, 2) / shape.head_dim)

    def logits(self, ids: Sequence[int], cache: Cache, last: int = 1) -> Floats:
        """(last, vocabulary): of the token after each of the last ids.

        Raises:
            BackendError: more ids than the context holds.
        """
        if len(ids) > self.shape.context:
            raise BackendError(f"the request has {len(ids)} tokens, more than the context of {self.shape.context}")
        first = len(ids) - last
        same = min(cache.common(ids), len(cache.ids) // CHUNK * CHUNK, first) // CHUNK * CHUNK
        cache.ids = []  # nothing is cached while its arrays are written
        with np.errstate(over="ignore"):  # a gate far below zero is closed: 1 / infinity
            hidden = [self._chunk(ids[start : start + CHUNK], start, cache, max(first - start, 0))
                      for start in range(same, len(ids), CHUNK)]
        cache.ids = list(ids)
        out: Floats = self._normed(np.concatenate(hidden), self.norm) @ self.output
        return out

    def _chunk(self, ids: Sequence[int], start: int, cache: Cache, unread: int) -> Floats:
        """Hidden states (n - unread, width) of a chunk after the last layer, its first ``unread`` left out."""
        x = self.embedding[list(ids)]
        angle = np.arange(start, start + len(ids))[:, None] * self.frequency
        turn = np.cos(angle).astype(np.float32)[:, None], np.sin(angle).astype(np.float32)[:, None]
        for i, w in enumerate(self.layers):
            rows = slice(unread if i == self.shape.layers - 1 else 0, None)
            x = self._layer(x, w, cache.k[i], cache.v[i], start, turn, rows)
        return x

    def _layer(self, x: Floats, w: dict[str, Floats], keys: Floats, values: Floats, start: int,
               turn: tuple[Floats, Floats], rows: slice) -> Floats:
        """One layer over (n, width), for ``rows`` of them; keys and values of all n are kept."""
        s, end = self.shape, start + len(x)
        h = self._normed(x, w["input_layernorm"])
        k = (h @ w["self_attn.k_proj"]).reshape(len(h), s.kv_heads, s.head_dim)
        keys[:, start:end] = rotate(self._head_norm(k, w, "k"), turn).transpose(1, 0, 2)
        values[:, start:end] = (h @ w["self_attn.v_proj"]).reshape(len(h), s.kv_heads, s.head_dim).transpose(1, 0, 2)
        at = np.arange(start, end)[rows]
        if not len(at):
            return x[rows]
        x, h, turn = x[rows], h[rows], (turn[0][rows], turn[1][rows])
        n, group = len(h), s.heads // s.kv_heads
        q = rotate(self._head_norm((h @ w["self_attn.q_proj"]).reshape(n, s.heads, s.head_dim), w, "q"), turn)
        q *= np.float32(s.head_dim**-0.5)
        q = q.reshape(n, s.kv_heads, group, s.head_dim).transpose(1, 2, 0, 3).reshape(s.kv_heads, group * n, s.head_dim)
        scores = (q @ keys[:, :end].transpose(0, 2, 1)).reshape(s.kv_heads, group, n, end)
        scores[..., start:] += np.where(np.arange(start, end) > at[:, None], np.float32(-1e30), np.float32(0))
        scores -= scores.max(-1, keepdims=True)
        np.exp(scores, out=scores)
        share = 1 / scores.sum(-1).reshape(s.kv_heads, group * n, 1)
        mixed = scores.reshape(s.kv_heads, group * n, end) @ values[:, :end] * share
        mixed = mixed.reshape(s.heads, n, s.head_dim).transpose(1, 0, 2).reshape(n, -1)
        x = x + mixed @ w["self_attn.o_proj"]
        h = self._normed(x, w["post_attention_layernorm"])
        gate, open_ = h @ w["mlp.gate_proj"], h @ w["mlp.up_proj"]
        open_ *= gate
        np.negative(gate, out=gate)
        np.exp(gate, out=gate)
        gate += 1
        open_ /= gate
        x += open_ @ w["mlp.down_proj"]
        return x

    def _head_norm(self, x: Floats, w: dict[str, Floats], which: str) -> Floats:
        """Qwen3 normalises queries and keys head by head; Llama has no such weights."""
        weight = w.get(f"self_attn.{which}_norm")
        return x if weight is None else self._normed(x, weight)

    def _normed(self, x: Floats, weight: Floats) -> Floats:
        """Root-mean-square normalisation over the last axis."""
        out: Floats = x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(self.shape.epsilon)) * weight
        return out


def rotate(x: Floats, turn: tuple[Floats, Floats]) -> Floats:
    """Rotary position embedding of (n, heads, dim); ``turn`` is cosine and sine, (n, 1, dim / 2)."""
    cos, sin = turn
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def log_softmax(logits: Floats) -> npt.NDArray[np.float64]:
    """Over the last axis, in double precision."""
    x = logits.astype(np.float64)
    x -= x.max(-1, keepdims=True)
    out: npt.NDArray[np.float64] = x - np.log(np.exp(x).sum(-1, keepdims=True))
    return out
