"""Plain handling of generated text that several readouts share."""

from __future__ import annotations

import re

_BLOCK = re.compile(r"<think>.*?</think>", re.S)


def without_thinking(text: str) -> str:
    """``text`` without its ``<think>`` blocks; a block that never closes takes the rest of the text with it."""
    text = _BLOCK.sub("", text)
    if "</think>" in text:  # templates that open the block in the prompt return only its end
        text = text.rpartition("</think>")[2]
    return text.partition("<think>")[0]
