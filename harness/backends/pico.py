"""``pico`` in process: an embedded decision model of 2.2 M parameters that reads tables, run by numpy alone.

The weights (bf16 safetensors, made by ``scripts/make_pico.py``) are of Qwen3's architecture; the same folder loads in
transformers and in vLLM. Answers with the letters of the options: one forward pass, no sampling. Keys and values of the
last prompt are kept, so requests that share their evidence cost their question only.

Options of the configuration: ``folder``, another checkpoint of this architecture; ``adapter_folder``, a LoRA adapter
that is merged into the weights.
"""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import AdapterError, BackendError
from ..probe import Request, Response, Usage
from .base import Backend
from .config import ModelConfig
from .pico_tokens import Tokens
from .weights import checkpoint_sha256, read_safetensors

Floats = npt.NDArray[np.float32]
FOLDER = Path(__file__).parent / "data" / "pico"
MESSAGE = "<|im_start|>{role}\n{text}<|im_end|>\n"
ANSWER = "<|im_start|>assistant\n"


def chat(request: Request) -> str:
    """The prompt in the model's chat template, which its tokenizer_config.json states too."""
    system = MESSAGE.format(role="system", text=request.system) if request.system else ""
    return system + MESSAGE.format(role="user", text=request.text) + ANSWER


class Network:
    """A Qwen3 decoder in float32. ``logits(ids)`` gives the next-token logits (V,) after the last id."""

    def __init__(self, folder: Path, adapter: Path | None = None):
        self.config: dict[str, Any] = json.loads((folder / "config.json").read_text("utf-8"))
        weights = read_safetensors(folder / "model.safetensors")
        if adapter is not None:
            merge(weights, adapter)
        self.weights = {k: np.ascontiguousarray(w.T if w.ndim == 2 and "embed" not in k else w, np.float32)
                        for k, w in weights.items()}
        c = self.config
        self.heads, self.kv, self.dim = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
        theta = c.get("rope_theta") or c["rope_parameters"]["rope_theta"]
        self.frequency = 1.0 / theta ** (np.arange(0, self.dim, 2) / self.dim)
        self.ids: list[int] = []
        self.cache = [(np.zeros((0, self.kv, self.dim), np.float32),) * 2 for _ in range(c["num_hidden_layers"])]

    def logits(self, ids: list[int]) -> Floats:
        if len(ids) > self.config["max_position_embeddings"]:
            raise BackendError(f"pico: a prompt of {len(ids)} tokens; at most "
                               f"{self.config['max_position_embeddings']} can be read")
        same = 0
        while same < min(len(ids) - 1, len(self.ids)) and ids[same] == self.ids[same]:
            same += 1
        embedding = self.weights["model.embed_tokens.weight"]
        x = embedding[ids[same:]]
        angle = np.arange(same, len(ids))[:, None] * self.frequency
        turn = (np.cos(angle).astype(np.float32)[:, None], np.sin(angle).astype(np.float32)[:, None])
        for i in range(len(self.cache)):
            x = self._layer(x, i, same, turn, last=i == len(self.cache) - 1)
        self.ids = list(ids)
        return embedding @ norm(x[-1], self.weights["model.norm.weight"])

    def _layer(self, x: Floats, i: int, same: int, turn: tuple[Floats, Floats], last: bool) -> Floats:
        w = {k: self.weights[f"model.layers.{i}.{k}.weight"] for k in LAYER}
        h = norm(x, w["input_layernorm"])
        k = rotate(norm((h @ w["self_attn.k_proj"]).reshape(len(h), self.kv, -1), w["self_attn.k_norm"]), turn)
        v = (h @ w["self_attn.v_proj"]).reshape(len(h), self.kv, -1)
        held_k, held_v = self.cache[i]
        k, v = np.concatenate([held_k[:same], k]), np.concatenate([held_v[:same], v])
        self.cache[i] = (k, v)
        if last:  # only the last position is read after the last layer
            x, h, turn = x[-1:], h[-1:], (turn[0][-1:], turn[1][-1:])
        q = rotate(norm((h @ w["self_attn.q_proj"]).reshape(len(h), self.heads, -1), w["self_attn.q_norm"]), turn)
        group = self.heads // self.kv
        q = q.reshape(len(q), self.kv, group, self.dim).transpose(1, 2, 0, 3)
        scores = q @ k.transpose(1, 2, 0)[:, None] / np.sqrt(np.float32(self.dim))
        first = len(k) - len(h)
        scores += np.where(np.arange(len(k)) > first + np.arange(len(h))[:, None], np.float32(-1e30), np.float32(0))
        scores -= scores.max(-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(-1, keepdims=True)
        mixed = (scores @ v.transpose(1, 0, 2)[:, None]).transpose(2, 0, 1, 3).reshape(len(h), -1)
        x = x + mixed @ w["self_attn.o_proj"]
        h = norm(x, w["post_attention_layernorm"])
        gate = h @ w["mlp.gate_proj"]
        out: Floats = x + (gate / (1 + np.exp(-gate)) * (h @ w["mlp.up_proj"])) @ w["mlp.down_proj"]
        return out


LAYER = ("input_layernorm", "post_attention_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
         "self_attn.o_proj", "self_attn.q_norm", "self_attn.k_norm", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj")


def norm(x: Floats, weight: Floats) -> Floats:
    """Root-mean-square normalisation over the last axis."""
    out: Floats = x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-6)) * weight
    return out


def rotate(x: Floats, turn: tuple[Floats, Floats]) -> Floats:
    """Rotary position embedding of (n, heads, dim); ``turn`` is cosine and sine, (n, 1, dim / 2)."""
    cos, sin = turn
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def merge(weights: dict[str, Floats], adapter: Path) -> None:
    """Add a LoRA adapter to the weights: W + scale / rank x B A.

    Raises:
        AdapterError: it belongs to another model: a projection or a shape does not fit.
    """
    config = json.loads((adapter / "adapter_config.json").read_text("utf-8"))
    scale = config["lora_alpha"] / config["r"]
    added = read_safetensors(adapter / "adapter_model.safetensors")
    for name, a in added.items():
        if ".lora_A." not in name:
            continue
        target = name.removeprefix("base_model.model.").replace(".lora_A", "")
        b = added[name.replace(".lora_A.", ".lora_B.")]
        if target not in weights or weights[target].shape != (b.shape[0], a.shape[1]):
            has = weights[target].shape if target in weights else "none"
            raise AdapterError(f"{adapter}: {target} is {(b.shape[0], a.shape[1])} in the adapter and {has} in the "
                               "model; it was trained on another base")
        weights[target] = weights[target] + np.float32(scale) * (b @ a)


class Pico(Backend):
    local = True

    def __init__(self, config: ModelConfig, meter: Any = None) -> None:
        super().__init__(config, meter)
        self.folder = folder = Path(config.options.get("folder", FOLDER))
        adapter = config.options.get("adapter_folder")
        self.tokens = Tokens(folder / "tokenizer.json")
        self.network = Network(folder, Path(adapter) if adapter else None)
        self.lock = threading.Lock()

    def identity(self, request: Request) -> str:
        """Its weights: they change with the package."""
        return checkpoint_sha256(str(self.folder))

    def answer(self, request: Request) -> Response:
        begun = time.perf_counter()
        if request.images:
            return Response(error="pico has no image input; ask it for tables", finish_reason="error")
        ids = self.tokens.ids(chat(request))
        with self.lock:
            logits = self.network.logits(ids).astype(np.float64)
        logits -= np.log(np.exp(logits - logits.max()).sum()) + logits.max()
        scores = {key: float(logits[self.tokens.vocabulary[letter]]) for letter, key in request.letters.items()}
        best = max(scores, key=scores.__getitem__)
        text = next(letter for letter, key in request.letters.items() if key == best)
        return Response(text=text, option_scores=scores, scores_are="logprobs",
                        label_mass=float(np.exp(list(scores.values())).sum()), served_model="pico",
                        usage=Usage(tokens_in=len(ids), tokens_out=1), latency_s=time.perf_counter() - begun)
