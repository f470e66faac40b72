"""Writes the sections of docs/performance.md, each from its own command, and leaves the others as they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

HEAD = """# Performance

Speeds depend on the machine and on what else it does, so only ratios of what was measured side by side are claimed, and the
tests (`make bench`) assert ratios too. Each section says which command made it; run it on your machine.
"""


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [columns, ["---"] + ["---:"] * (len(columns) - 1), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def replace_section(path: Path, title: str, body: str) -> None:
    """The second-level section ``title`` of the page becomes ``body``, at the end where there is none yet.

    What stands between ``<!-- by hand -->`` and the next section is kept.
    """
    text = path.read_text("utf-8") if path.exists() else HEAD
    found = re.search(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    kept = found[0].partition("<!-- by hand -->")[1:] if found and "<!-- by hand -->" in found[0] else ("", "")
    section = f"## {title}\n\n{body.strip()}\n" + ("\n" + "".join(kept) if kept[0] else "")
    section = section.rstrip("\n") + "\n"
    before, after = (text[:found.start()], text[found.end():]) if found else (text.rstrip("\n") + "\n\n", "")
    path.write_text(before + section + ("\n" + after.lstrip("\n") if after else ""), "utf-8")
