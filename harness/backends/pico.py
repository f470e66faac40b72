"""``pico`` in process: an embedded decision model of 2.2 M parameters that reads tables, run by numpy alone.

The weights (bf16 safetensors, made by ``scripts/make_pico.py``) are of Qwen3's architecture; the same folder loads in
transformers and in vLLM. Answers with the letters of the options: one forward pass, no sampling.

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

from ..errors import AdapterError
from ..probe import Request, Response, Usage
from .base import Backend
from .config import ModelConfig
from .decoder import Cache, Decoder, Floats, Shape, log_softmax
from .pico_tokens import Tokens
from .weights import checkpoint_sha256, read_safetensors

FOLDER = Path(__file__).parent / "data" / "pico"
MESSAGE = "<|im_start|>{role}\n{text}<|im_end|>\n"
ANSWER = "<|im_start|>assistant\n"


def chat(request: Request) -> str:
    """The prompt in the model's chat template, which its tokenizer_config.json states too."""
    system = MESSAGE.format(role="system", text=request.system) if request.system else ""
    return system + MESSAGE.format(role="user", text=request.text) + ANSWER


def decoder(folder: Path = FOLDER, adapter: Path | None = None) -> Decoder:
    """The network of a Qwen3 checkpoint in a folder, with a LoRA adapter merged into it."""
    c = json.loads((folder / "config.json").read_text("utf-8"))
    weights = read_safetensors(folder / "model.safetensors")
    if adapter is not None:
        merge(weights, adapter)
    return Decoder(Shape(c["num_hidden_layers"], c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"],
                         c.get("rope_theta") or c["rope_parameters"]["rope_theta"], c["rms_norm_eps"],
                         c["max_position_embeddings"]), weights)


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


def _folder(config: ModelConfig) -> Path:
    return Path(config.options.get("folder", FOLDER))


class Pico(Backend):
    local = True

    def __init__(self, config: ModelConfig, meter: Any = None) -> None:
        super().__init__(config, meter)
        folder = _folder(config)
        adapter = config.options.get("adapter_folder")
        self.tokens = Tokens(folder / "tokenizer.json")
        self.decoder = decoder(folder, Path(adapter) if adapter else None)
        self.cache = Cache(self.decoder.shape)
        self.lock = threading.Lock()

    @classmethod
    def identity(cls, config: ModelConfig, request: Request) -> str:
        """Its weights: they change with the package."""
        return checkpoint_sha256(str(_folder(config)))

    def answer(self, request: Request) -> Response:
        begun = time.perf_counter()
        if request.images:
            return Response(error="pico has no image input; ask it for tables", finish_reason="error")
        ids = self.tokens.ids(chat(request))
        with self.lock:
            logs = log_softmax(self.decoder.logits(ids, self.cache))[0]
        scores = {key: float(logs[self.tokens.vocabulary[letter]]) for letter, key in request.letters.items()}
        best = max(scores, key=scores.__getitem__)
        text = next(letter for letter, key in request.letters.items() if key == best)
        return Response(text=text, option_scores=scores, scores_are="logprobs",
                        label_mass=float(np.exp(list(scores.values())).sum()), served_model="pico",
                        usage=Usage(tokens_in=len(ids), tokens_out=1), latency_s=time.perf_counter() - begun)
