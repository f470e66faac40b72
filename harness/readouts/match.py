r"""Which option a piece of text names. The rules, in this order; the first that names exactly one option decides:

1. ``exact``: the option's label, or its key, letter for letter after trimming.
2. ``markup``: the same after removing white space, Markdown emphasis, quotes, a leading ``ANSWER:`` or ``Option``,
   and closing punctuation, and ignoring case: ``**B**``, ``ANSWER: B,``, ``"B".``
3. ``described``: ``B. 4``, ``B) Spectrum B``, ``B: ...`` where ``B`` is a label or the letter of an option and what
   follows is that option's label, key or description (or, where an option has no description, a number or nothing).
4. ``letter``: a single letter that the request gives the option, where labels are longer.

Anything else is not an option. Text that names two options names none.
"""

from __future__ import annotations

import re

from ..probe import Option, Request

_LEAD = re.compile(r"^(?:the\s+)?(?:(?:final\s+|correct\s+)?answer|choice|option)(?:\s+is)?\s*[:=\-]?\s*", re.I)
_EDGE = " \t\r\n*_`\"'“”‘’()[]{}<>,.;:!"
_LETTERED = re.compile(r"^\(?([A-Za-z])\)?\s*[.):\-–]\s*(\S.*)$", re.S)


def match_option(text: str, request: Request) -> tuple[str | None, str]:
    """(option key or None, the rule that found it or why none did: ``empty``, ``not_offered``, ``several``)."""
    trimmed = text.strip()
    if not trimmed:
        return None, "empty"
    exact = [o.key for o in request.options if trimmed == o.label] or [
        o.key for o in request.options if trimmed == o.key]
    if len(exact) == 1:
        return exact[0], "exact"
    plain = _plain(trimmed)
    if not plain:
        return None, "empty"
    found = {o.key for o in request.options if plain in (_plain(o.label), _plain(o.key))}
    if len(found) == 1:
        return found.pop(), "markup"
    if len(found) > 1:
        return None, "several"
    letters = {letter.casefold(): key for letter, key in request.letters.items()}
    by_key = {o.key: o for o in request.options}
    lettered = _LETTERED.match(trimmed.strip("*_` \n")) or _LETTERED.match(_LEAD.sub("", trimmed).strip("*_` \n"))
    if lettered and lettered[1].casefold() in letters:
        option = by_key[letters[lettered[1].casefold()]]
        if _describes(lettered[2], option):
            return option.key, "described"
        return None, "not_offered"
    if plain in letters:
        return letters[plain], "letter"
    return None, "not_offered"


def _plain(text: str) -> str:
    stripped = text.strip(_EDGE)
    return _LEAD.sub("", stripped).strip(_EDGE).casefold()


def _describes(text: str, option: Option) -> bool:
    plain = _plain(text)
    names = {_plain(option.label), _plain(option.key), _plain(option.description)} - {""}
    combined = _plain(f"{option.label} ({option.description})")
    return plain in names | {combined} or (len(option.label) == 1 and not option.description)
