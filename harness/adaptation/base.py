"""The frozen model that an arm adapts: where its weights lie, what a LoRA adds to it, how a request becomes tokens."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..backends.config import models
from ..errors import AdapterError, near
from ..probe import Request
from ..spec import declaration
from .spec import Lora

if TYPE_CHECKING:
    import torch

MODELS = Path(".isoprobe") / "models"
"""Where converted checkpoints are kept, relative to the working folder."""
NOT_THE_MODEL = ("transformers_version", "dtype", "torch_dtype", "_name_or_path")
"""Settings of a configuration that say nothing about shapes."""
EXTRA = "training needs torch, transformers and peft; install isoprobe[train]"


@dataclass(frozen=True, slots=True)
class Base:
    """A checkpoint that transformers can load: a folder, or the name of one on a hub."""

    name: str
    checkpoint: str

    @property
    def fingerprint(self) -> str:
        """Hash of what an adapter must fit: shapes and vocabulary as the configuration states them."""
        path = Path(self.checkpoint) / "config.json"
        if not path.is_file():
            return f"hub:{self.checkpoint}"
        config = json.loads(path.read_text("utf-8"))
        config = {k: v for k, v in config.items() if k not in NOT_THE_MODEL}
        return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()[:16]


def find(name: str, root: Path) -> Base:
    """The base of that name: a folder, an embedded model, or the ``model`` of an entry of specs/models.yaml.

    Raises:
        AdapterError: neither, or the model has no weights that could be trained.
    """
    if (Path(name) / "config.json").is_file():
        return Base(Path(name).name, str(Path(name)))
    if name == "pico":
        from ..backends.pico import FOLDER

        return Base(name, str(FOLDER))
    declared = models(declaration(root, "models").data)
    if name not in declared:
        raise AdapterError(f"base {name!r} is not in specs/models.yaml and no folder with a config.json"
                           f"{near(name, declared)}")
    config = declared[name]
    if config.backend == "smollm2":
        return Base(name, str(converted(root)))
    if config.backend not in ("vllm", "hf") or not config.model:
        trainable = [n for n, c in declared.items() if c.backend in ("vllm", "hf", "pico", "smollm2")]
        raise AdapterError(f"base {name!r}: its backend {config.backend!r} has no weights here that could be trained; "
                           f"valid: {', '.join(trainable)}")
    return Base(name, config.model)


def converted(root: Path) -> Path:
    """SmolLM2's weights as a checkpoint, converted from the file that its package ships, once.

    Raises:
        AdapterError: the packages that read it are missing.
    """
    folder = root / MODELS / "smollm2"
    if (folder / "config.json").is_file():
        return folder
    from ..backends.smollm2 import find_weights

    part = folder.with_name(folder.name + ".part")
    dequantize(find_weights(), part)
    part.replace(folder)
    return folder


def dequantize(source: Path, folder: Path) -> None:
    """Write the weights of a GGUF file as a bfloat16 checkpoint, with its tokenizer and chat template.

    Raises:
        AdapterError: the packages that read it are missing.
    """
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
        model = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name, dtype=torch.float32)
        model = model.to(torch.bfloat16)
    except ImportError as error:
        raise AdapterError(f"smollm2's weights are a GGUF file, which could not be read: {error}; "
                           "pip install gguf, and isoprobe[train]") from error
    model.hf_quantizer = None  # transformers 5 takes it for quantized still and refuses to save it
    for name in ("quantization_config", "_pre_quantization_dtype"):
        if hasattr(model.config, name):
            delattr(model.config, name)
    model.config.dtype = torch.bfloat16
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def linear_layers(model: torch.nn.Module) -> dict[str, list[torch.nn.Linear]]:
    """Last part of a name -> the linear layers of the language model that carry it; no vision tower, no heads."""
    import torch

    out: dict[str, list[torch.nn.Linear]] = {}
    for name, module in model.named_modules():
        parts = name.split(".")
        inside = "layers" in parts and not {"visual", "vision_tower", "mtp"} & set(parts)
        if isinstance(module, torch.nn.Linear) and inside:
            out.setdefault(parts[-1], []).append(module)
    return out


def chosen_targets(model: torch.nn.Module, lora: Lora) -> tuple[str, ...]:
    """The projections that this model adapts.

    Raises:
        AdapterError: a target that the model lacks; names what it has.
    """
    has = linear_layers(model)
    for target in lora.targets:
        if target not in has:
            raise AdapterError(f"lora.targets: the base has no projection {target!r}{near(target, sorted(has))}")
    return (*lora.targets, *(t for t in lora.targets_if_present if t in has))


def adapted_layers(model: torch.nn.Module, lora: Lora) -> dict[str, torch.nn.Linear]:
    """Full name -> projection, of all that this model adapts."""
    has = linear_layers(model)
    chosen = {id(m) for t in chosen_targets(model, lora) for m in has[t]}
    named = {name: m for name, m in model.named_modules() if id(m) in chosen}
    if lora.last_layers is None:
        return named
    count = 1 + max(map(layer_of, named))
    return {name: m for name, m in named.items() if layer_of(name) >= count - lora.last_layers}


def layer_of(name: str) -> int:
    """``model.layers.3.mlp.up_proj`` -> 3."""
    parts = name.split(".")
    return int(parts[parts.index("layers") + 1])


class Prompter:
    """Requests as token ids in the base's own chat template, thinking off; and the ids of option letters."""

    def __init__(self, base: Base):
        try:
            from transformers import AutoTokenizer
        except ImportError as error:
            raise AdapterError(EXTRA) from error
        self.tokenizer = AutoTokenizer.from_pretrained(base.checkpoint)
        if self.tokenizer.chat_template is None:
            raise AdapterError(f"base {base.name!r} has no chat template, so its requests cannot be composed; "
                               "use an instruction-tuned checkpoint")

    def ids(self, request: Request) -> list[int]:
        messages = [{"role": "system", "content": request.system}] if request.system else []
        messages.append({"role": "user", "content": request.text})
        text = self.tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False,
                                                  enable_thinking=False)
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    def letters(self, names: Iterable[str]) -> list[int]:
        """One token for each letter. Raises AdapterError where the tokenizer has none."""
        out = []
        for name in names:
            ids = self.tokenizer(name, add_special_tokens=False)["input_ids"]
            if len(ids) != 1:
                raise AdapterError(f"the tokenizer splits the option letter {name!r} into {len(ids)} tokens; "
                                   "a base with single-token letters is needed")
            out.append(ids[0])
        return out
