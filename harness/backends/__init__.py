"""Ways to ask a model, each one file with ``async complete(request) -> Response`` and one line in this table.

Names are the ``backend`` of a model in ``specs/models.yaml``; values are loaded on first use, so that an import
of this package costs nothing. See :mod:`harness.backends.base` for what a backend has to offer.
"""

from __future__ import annotations

BACKENDS = {
    "oracle": "harness.backends.oracle:Oracle",
    "scripted": "harness.backends.scripted:Scripted",
    "smollm2": "harness.backends.smollm2:SmolLM2",
    "pico": "harness.backends.pico:Pico",
    "hf": "harness.backends.hf:Transformers",
    "chat": "harness.backends.chat:Chat",
    "openrouter": "harness.backends.openrouter:OpenRouter",
    "decisions": "harness.backends.decisions:Decisions",
    "vllm": "harness.backends.vllm:Vllm",
}
