"""The strict JSON schema of the generative route: choice and probabilities (optical-spectra paper, appendix B)."""

from __future__ import annotations

from typing import Any

from ..probe import Request


def choice_schema(request: Request) -> dict[str, Any]:
    """``{"choice": one label, "probabilities": {every label: number}}``, nothing else allowed."""
    labels = [o.label for o in request.options]
    return {
        "type": "object",
        "properties": {
            "choice": {"type": "string", "enum": labels},
            "probabilities": {
                "type": "object",
                "properties": {label: {"type": "number"} for label in labels},
                "required": labels,
                "additionalProperties": False,
            },
        },
        "required": ["choice", "probabilities"],
        "additionalProperties": False,
    }
