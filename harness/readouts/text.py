"""Plain handling of generated text that several readouts share."""

from __future__ import annotations

REASONING = (("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<|channel>thought", "<channel|>"))
"""How models mark the reasoning that precedes a reply."""


def without_thinking(text: str) -> str:
    """The reply without its reasoning; the time is linear in its length.

    A block that never closes takes the rest of the text with it. An end without a start takes all before it: templates
    that open the block in the prompt return only its end.
    """
    for start, end in REASONING:
        text = _without(text, start, end)
    return text


def _without(text: str, start: str, end: str) -> str:
    kept: list[str] = []
    at, opens = 0, text.find(start)
    closes = text.find(end)
    while opens >= 0 or closes >= 0:
        if closes >= 0 and (opens < 0 or closes < opens):
            kept = []  # the block was opened in the prompt
            at = closes + len(end)
        else:
            kept.append(text[at:opens])
            if closes < 0:
                return "".join(kept)
            at = closes + len(end)
        if 0 <= opens < at:
            opens = text.find(start, at)
        closes = text.find(end, at)
    return "".join([*kept, text[at:]])
