"""Reads a byte-level BPE ``tokenizer.json`` without the tokenizers package: what ``pico`` needs, nothing more."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from itertools import pairwise
from pathlib import Path


def byte_letters() -> dict[int, str]:
    """Byte -> the printable character that stands for it in byte-level vocabularies (as GPT-2 introduced)."""
    plain = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    out = {b: chr(b) for b in plain}
    out.update({b: chr(256 + i) for i, b in enumerate(b for b in range(256) if b not in out)})
    return out


class Tokens:
    """``ids(text)`` equals what the tokenizers package gives; special tokens in the text are honoured, as there."""

    def __init__(self, path: Path):
        file = json.loads(path.read_text("utf-8"))
        self.vocabulary: dict[str, int] = file["model"]["vocab"]
        pairs = (m.split(" ") if isinstance(m, str) else m for m in file["model"]["merges"])
        self.ranks = {tuple(pair): i for i, pair in enumerate(pairs)}
        self.special = {t["content"]: t["id"] for t in file["added_tokens"]}
        self.pieces = re.compile(file["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"])
        self.split = re.compile("(" + "|".join(map(re.escape, self.special)) + ")")
        self.letters = byte_letters()
        self._piece = lru_cache(maxsize=20_000)(self._merge)

    def ids(self, text: str) -> list[int]:
        out: list[int] = []
        for part in self.split.split(text):
            if part in self.special:
                out.append(self.special[part])
                continue
            for piece in self.pieces.findall(part):
                out += self._piece(piece)
        return out

    def _merge(self, piece: str) -> tuple[int, ...]:
        """Byte letters of a piece, merged in the order of the merge list."""
        parts = [self.letters[b] for b in piece.encode("utf-8")]
        while len(parts) > 1:
            first = min(pairwise(parts), key=lambda p: self.ranks.get(p, len(self.ranks)))
            if first not in self.ranks:
                break
            merged, i = [], 0
            while i < len(parts):
                if i + 1 < len(parts) and (parts[i], parts[i + 1]) == first:
                    merged.append(parts[i] + parts[i + 1])
                    i += 2
                else:
                    merged.append(parts[i])
                    i += 1
            parts = merged
        return tuple(self.vocabulary[p] for p in parts)
