"""A transformer decoder in numpy, float32: the architectures of Qwen3 and Llama, exact distributions over the next token.

Positions are evaluated in chunks of :data:`CHUNK`, at the same boundaries whatever is cached. A chunk is either taken from
the cache whole or evaluated with the same shapes as ever, so a request's numbers are the same, bit for bit, whatever was
asked before it. Requests that share their evidence cost their question only.

Weights carry the names of transformers' checkpoints; no biases.
"""

from __future__ import annotations

import math
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
    """Ids that were evaluated, the keys and values of their whole chunks, and scratch space; one a thread of evaluation."""

    def __init__(self, shape: Shape) -> None:
        self.ids: list[int] = []
        size = (shape.layers, shape.kv_heads)  # pages are taken when they are written
        self.k = np.empty((*size, shape.head_dim, shape.context), np.float32)
        self.v = np.empty((*size, shape.context, shape.head_dim), np.float32)
        self.scratch: dict[str, Floats] = {}

    def space(self, name: str, *shape: int) -> Floats:
        """An array to write into, over the last one of that name: fresh memory costs more than the arithmetic."""
        size = math.prod(shape)
        if name not in self.scratch or self.scratch[name].size < size:
            self.scratch[name] = np.empty(size, np.float32)
        return self.scratch[name][:size].reshape(shape)

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
        same = min(cache.common(ids), first) // CHUNK * CHUNK
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
            x = self._layer(x, w, cache, i, start, turn, rows)
        return x

    def _layer(self, x: Floats, w: dict[str, Floats], cache: Cache, i: int, start: int, turn: tuple[Floats, Floats],
               rows: slice) -> Floats:
        """Layer ``i`` over (n, width), for ``rows`` of them; keys and values of all n are kept."""
        s, end = self.shape, start + len(x)

        def times(name: str, a: Floats) -> Floats:
            return np.matmul(a, w[name], out=cache.space(name, len(a), w[name].shape[1]))

        h = self._normed(x, w["input_layernorm"])
        k = self._head_norm(times("self_attn.k_proj", h).reshape(-1, s.kv_heads, s.head_dim), w, "k")
        v = times("self_attn.v_proj", h).reshape(-1, s.kv_heads, s.head_dim)
        cache.k[i, ..., start:end] = rotate(k, turn).transpose(1, 2, 0)
        cache.v[i, :, start:end] = v.transpose(1, 0, 2)
        at = np.arange(start, end)[rows]
        if not len(at):
            return x[rows]
        x, h, turn = x[rows], h[rows], (turn[0][rows], turn[1][rows])
        n, group = len(h), s.heads // s.kv_heads
        q = rotate(self._head_norm(times("self_attn.q_proj", h).reshape(n, s.heads, s.head_dim), w, "q"), turn)
        q *= np.float32(s.head_dim**-0.5)
        q = q.transpose(1, 0, 2).reshape(s.kv_heads, group * n, s.head_dim)
        scores = np.matmul(q, cache.k[i, ..., :end], out=cache.space("scores", s.kv_heads, group * n, end))
        later = np.where(np.arange(start, end) > at[:, None], np.float32(-1e30), np.float32(0))
        scores.reshape(-1, n, end)[..., start:] += later
        scores -= scores.max(-1, keepdims=True)
        np.exp(scores, out=scores)
        mixed = np.matmul(scores, cache.v[i, :, :end], out=cache.space("mixed", s.kv_heads, group * n, s.head_dim))
        mixed /= scores.sum(-1, keepdims=True)
        x = x + times("self_attn.o_proj", mixed.reshape(s.heads, n, s.head_dim).transpose(1, 0, 2).reshape(n, -1))
        h = self._normed(x, w["post_attention_layernorm"])
        gate, up = times("mlp.gate_proj", h), times("mlp.up_proj", h)
        up *= gate
        np.negative(gate, out=gate)
        np.exp(gate, out=gate)
        gate += 1
        up /= gate
        x += times("mlp.down_proj", up)
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
