"""Shorter ways to the same numbers: what peft and transformers compute in training, with less work.

Only the last position of a request is read, so what no position depends on is computed there alone in the last layer
(:class:`Only`). On a CPU, where each pass over memory costs as much as a small product, an adapted projection is one
function with a backward of its own (:class:`Projection`), with a dropout that draws 16 bits a number (:func:`mask`),
and the common beginning of a batch attends without a mask (:func:`attention`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch

POSITIONWISE = ("self_attn.q_proj", "self_attn.o_proj", "mlp")
"""Parts of a decoder layer whose result at a position no other position of the same layer depends on."""


class Only:
    """A part of the last layer, computed at the positions ``at`` (rows, columns); zero elsewhere, where nobody reads."""

    def __init__(self, module: torch.nn.Module):
        self.whole: Callable[[torch.Tensor], torch.Tensor] = module.forward
        self.at: tuple[torch.Tensor, torch.Tensor]
        module.forward = self  # type: ignore[assignment]

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        some = self.whole(x[self.at][None])[0]
        return some.new_zeros(*x.shape[:-1], some.shape[-1]).index_put(self.at, some)


def only_last(decoder: torch.nn.Module) -> list[Only]:
    """The parts of the last layer that need no other positions than those that are read."""
    named = dict(decoder.layers[-1].named_modules())  # type: ignore[union-attr,index,operator]
    return [Only(named[name]) for name in POSITIONWISE if name in named]


def mask(like: torch.Tensor, rate: float) -> tuple[torch.Tensor, float]:
    """Ones and, with probability ``rate``, zeros; and what the ones' share has to be divided by.

    torch draws 13 ns a number on one core. Here it only seeds a stream of its own for each mask, so that its seed and its
    state (gradient checkpointing, a resumed run) decide as ever; 16 bits a number meet the rate within 1e-5, and the
    share that is returned is the exact one.
    """
    least = round(rate * 2**16)
    seed = int(torch.randint(2**62, ()))
    bits = np.random.SFC64(seed).random_raw(-(-like.numel() // 4)).view(np.int16)[: like.numel()]
    out = torch.empty(like.shape, dtype=like.dtype)
    torch.ge(torch.from_numpy(bits).view(like.shape), least - 2**15, out=out)
    return out, 1 - least / 2**16


class Projection(torch.autograd.Function):
    """A frozen linear layer plus its adapter: ``x W' + (x * keep) A' B' scale``."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, a: torch.Tensor,
                b: torch.Tensor, keep: torch.Tensor | None, scale: float) -> torch.Tensor:
        kept = x if keep is None else x * keep
        inner = kept @ a.T
        out = torch.nn.functional.linear(x, weight, bias)
        out.addmm_(inner, b.T, alpha=scale)
        ctx.save_for_backward(kept, weight, a, b, keep, inner)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:  # type: ignore[override]
        kept, weight, a, b, keep, inner = ctx.saved_tensors
        outer = (grad @ b).mul_(ctx.scale)
        below = None
        if ctx.needs_input_grad[0]:
            below = outer @ a
            if keep is not None:
                below.mul_(keep)
            below.addmm_(grad, weight)
        return below, None, None, outer.T @ kept, (grad.T @ inner).mul_(ctx.scale), None, None


class Fused:
    """Stands for the forward of an adapted layer of peft."""

    def __init__(self, layer: Any, rate: float):
        name, = layer.active_adapters
        self.layer, self.base, self.rate = layer, layer.get_base_layer(), rate
        self.a, self.b, self.scale = layer.lora_A[name].weight, layer.lora_B[name].weight, layer.scaling[name]

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.reshape(-1, x.shape[-1])
        keep, share = mask(flat, self.rate) if self.rate and self.layer.training else (None, 1.0)
        out = Projection.apply(flat, self.base.weight, self.base.bias, self.a, self.b, keep, self.scale / share)
        return out.view(*x.shape[:-1], -1)


def fuse(model: torch.nn.Module, rate: float) -> None:
    """Every adapted linear layer of ``model`` by :class:`Projection`."""
    from peft.tuners.lora import Linear

    for layer in model.modules():
        if isinstance(layer, Linear):
            layer.forward = Fused(layer, rate)  # type: ignore[assignment]


def attention(module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None,
              beginning: int = 0, **kwargs: Any) -> tuple[torch.Tensor, None]:
    """transformers' ``sdpa`` where the first ``beginning`` tokens of every row see all before them.

    Those need no mask: half of the products of a masked one are left out, and all of them in the last layer.
    """
    from transformers.integrations.sdpa_attention import sdpa_attention_forward as sdpa

    if mask is None or not beginning:
        return sdpa(module, query, key, value, mask, **kwargs)
    head, tail = query[:, :, :beginning], query[:, :, beginning:]
    after, _ = sdpa(module, tail, key, value, mask[:, :, beginning:], **kwargs)
    if module.layer_idx == module.config.num_hidden_layers - 1:
        before = after.new_zeros(after.shape[0], beginning, *after.shape[2:])
    else:
        before, _ = sdpa(module, head, key[:, :, :beginning], value[:, :, :beginning], None, **kwargs)
    return torch.cat([before, after], 1), None


@cache
def registered() -> str:
    """The name under which transformers knows :func:`attention`."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register("isoprobe", attention)
    AttentionMaskInterface.register("isoprobe", sdpa_mask)
    return "isoprobe"
