"""Reads the weights of a language model from a GGUF file with numpy alone (llama.cpp's format, version 2 or 3).

Numbers come as float32 under the names of transformers' checkpoints, rotary halves in transformers' order.
"""

from __future__ import annotations

import math
import mmap
import struct
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BackendError
from .decoder import Floats, Shape

ARCHITECTURES = ("llama", "qwen3")
ELSEWHERE = "Serve this file with llama.cpp or vLLM and ask it as chat:NAME@URL"
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9

NAMES = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj",
         "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
         "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm", "ffn_gate": "mlp.gate_proj",
         "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
WHOLE = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight",
         "output.weight": "lm_head.weight"}

HALF = np.dtype("<f2")
BLOCKS = {
    "F32": (0, 1, np.dtype("<f4")),
    "F16": (1, 1, HALF),
    "Q4_0": (2, 32, np.dtype([("d", HALF), ("q", "u1", 16)])),
    "Q4_1": (3, 32, np.dtype([("d", HALF), ("m", HALF), ("q", "u1", 16)])),
    "Q8_0": (8, 32, np.dtype([("d", HALF), ("q", "i1", 32)])),
}
"""Name -> number in the file, values a block, layout of a block; ``d`` scales and ``m`` is added, ``q`` are quanta."""


class _Cursor:
    """Walks through the header."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data, self.at = data, 0

    def number(self, form: str) -> Any:
        (value,) = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return value

    def text(self) -> str:
        size = self.number("Q")
        if size > len(self.data) - self.at:
            raise ValueError(f"a text of {size:,} bytes")
        self.at += size
        return bytes(self.data[self.at - size : self.at]).decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        """A scalar or a text; an array is passed over, as the tokenizer's are not read here."""
        if kind == STRING:
            return self.text()
        if kind != ARRAY:
            return self.number(SCALARS[kind])
        of, n = self.number("I"), self.number("Q")
        if of in SCALARS:
            self.at += n * struct.calcsize("<" + SCALARS[of])
        else:
            for _ in range(n):
                self.value(of)
        return None


def read_gguf(path: Path) -> tuple[Shape, dict[str, Floats]]:
    """The shape of the network and its weights.

    Raises:
        BackendError: not such a file, cut short, or an architecture or quantization that is not read here.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _read(path, _Cursor(data))
    except (OSError, ValueError, KeyError, TypeError, ArithmeticError, RecursionError, struct.error) as e:
        raise BackendError(f"{path}: not a complete GGUF file ({type(e).__name__}: {e}); fetch it again") from None


def _read(path: Path, cursor: _Cursor) -> tuple[Shape, dict[str, Floats]]:
    if cursor.data[:4] != b"GGUF":
        raise ValueError("it does not begin with GGUF")
    cursor.at = 4
    if (version := cursor.number("I")) not in (2, 3):
        raise ValueError(f"version {version}")
    tensors, pairs = cursor.number("Q"), cursor.number("Q")
    meta = {}
    for _ in range(pairs):
        name = cursor.text()
        meta[name] = cursor.value(cursor.number("I"))
    shape = _shape(path, meta)
    found = []
    for _ in range(tensors):
        name = cursor.text()
        size = tuple(cursor.number("Q") for _ in range(cursor.number("I")))
        found.append((name, size[::-1], cursor.number("I"), cursor.number("Q")))
    step = meta.get("general.alignment", 32)
    begin = -(-cursor.at // step) * step
    kinds: dict[int, tuple[int, Any]] = {number: (count, layout) for number, count, layout in BLOCKS.values()}
    weights = {}
    for name, size, kind, offset in found:
        if kind not in kinds:
            raise BackendError(f"{path}: tensor {name} is quantized as type {kind}; read here: "
                               f"{', '.join(BLOCKS)}. {ELSEWHERE}")
        count, layout = kinds[kind]
        # copied, as the file can't be closed while an array lies in it
        blocks = np.frombuffer(cursor.data, layout, math.prod(size) // count, begin + offset).copy()
        array = _values(blocks).reshape(size)
        weights[_named(path, name)] = _halves(array, name, shape) if meta["general.architecture"] == "llama" else array
    return shape, weights


def _shape(path: Path, meta: dict[str, Any]) -> Shape:
    kind = meta["general.architecture"]
    if kind not in ARCHITECTURES:
        raise BackendError(f"{path}: a model of architecture {kind!r}; read here: "
                           f"{', '.join(ARCHITECTURES)}. {ELSEWHERE}")
    heads, width = meta[f"{kind}.attention.head_count"], meta[f"{kind}.embedding_length"]
    return Shape(layers=meta[f"{kind}.block_count"], heads=heads,
                 kv_heads=meta.get(f"{kind}.attention.head_count_kv", heads),
                 head_dim=meta.get(f"{kind}.attention.key_length", width // heads),
                 theta=meta.get(f"{kind}.rope.freq_base", 10000.0),
                 epsilon=meta[f"{kind}.attention.layer_norm_rms_epsilon"], context=meta[f"{kind}.context_length"])


def _values(blocks: Any) -> Floats:
    """Of blocks of one layout, in float32: d q, or d q + m."""
    if blocks.dtype.names is None:
        return blocks.astype(np.float32)  # type: ignore[no-any-return]
    q, fields = blocks["q"], blocks.dtype.names
    halves = q.dtype == np.uint8  # two values a byte: the low halves come first
    out: Floats = (np.concatenate([q & 15, q >> 4], axis=1) if halves else q).astype(np.float32)
    if halves and "m" not in fields:
        out -= 8
    out *= blocks["d"].astype(np.float32)[:, None]
    if "m" in fields:
        out += blocks["m"].astype(np.float32)[:, None]
    return out


def _named(path: Path, name: str) -> str:
    """``blk.3.attn_q.weight`` -> ``model.layers.3.self_attn.q_proj.weight``."""
    if name in WHOLE:
        return WHOLE[name]
    match name.split("."):
        case "blk", layer, part, "weight" if part in NAMES:
            return f"model.layers.{layer}.{NAMES[part]}.weight"
    raise BackendError(f"{path}: tensor {name} (a bias, scaled positions, experts) is not read here. {ELSEWHERE}")


def _halves(array: Floats, name: str, shape: Shape) -> Floats:
    """Rotary pairs lie side by side in Llama's GGUF files, and half a head apart in transformers."""
    part = name.split(".")[-2]
    if part not in ("attn_q", "attn_k"):
        return array
    heads = shape.heads if part == "attn_q" else shape.kv_heads
    return array.reshape(heads, shape.head_dim // 2, 2, -1).swapaxes(1, 2).reshape(array.shape)
