"""How a raw reply becomes a :class:`~harness.probe.Reading`, one file a way and one line in this table.

Each value is a pure function ``read(request, response) -> Reading``. It reads what is there and never guesses: what it
cannot read is named in ``missing`` and, where the kind of slip is known, in ``near_misses``.
"""

from __future__ import annotations

READOUTS = {
    "decision": "harness.readouts.decision:read",
    "json_choice": "harness.readouts.json_choice:read",
    "option_letters": "harness.readouts.option_letters:read",
    "option_text": "harness.readouts.option_text:read",
    "labelled_lines": "harness.readouts.labelled_lines:read",
}
