"""OpenRouter's chat completions: one provider and one precision pinned, no fallbacks, cost and reasoning reported.

Providers serve one model at several precisions, and a change in mid-run could not be told from an effect of the views
(modality paper, appendix E.1). Further options of such a model, beside those of :mod:`harness.backends.chat`:

    provider       the only provider that may answer, by OpenRouter's name (a list is tried in order)
    quantization   the only precision: bf16, fp8, ...
    reasoning      an effort (none, low, medium, high), or false to switch thinking off
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..probe import Request, Response
from .chat import Chat


class OpenRouter(Chat):
    """Chat completions with OpenRouter's routing and accounting."""

    def body(self, request: Request) -> dict[str, Any]:
        return {**super().body(request), **routing(self.config.options), "usage": {"include": True}}

    def parse(self, request: Request, data: Mapping[str, Any]) -> Response:
        return served_as_asked(super().parse(request, data), self.config.options)


def routing(options: Mapping[str, Any]) -> dict[str, Any]:
    """The ``provider`` and ``reasoning`` fields that a model's options ask for."""
    provider: dict[str, Any] = {"allow_fallbacks": False, "require_parameters": True}
    if options.get("provider"):
        names = [options["provider"]] if isinstance(options["provider"], str) else list(options["provider"])
        provider |= {"only": names, "order": names}
    if options.get("quantization"):
        provider["quantizations"] = [options["quantization"]]
    fields: dict[str, Any] = {"provider": provider}
    reasoning = options.get("reasoning")
    if reasoning is False:
        fields["reasoning"] = {"enabled": False}
    elif isinstance(reasoning, str):
        fields["reasoning"] = {"effort": reasoning}
    elif isinstance(reasoning, Mapping):
        fields["reasoning"] = dict(reasoning)
    return fields


def served_as_asked(response: Response, options: Mapping[str, Any]) -> Response:
    """The reply, with a note when another provider answered than the pinned one."""
    asked = options.get("provider")
    names = [asked] if isinstance(asked, str) else list(asked or ())
    if not names or not response.provider or response.provider.casefold() in {n.casefold() for n in names}:
        return response
    notes = {"provider_asked": ", ".join(names), "provider_served": response.provider}
    return replace(response, extra={**response.extra, "notes": notes})
