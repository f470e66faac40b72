"""Python's cyclic collector while requests are asked, in the process of the items and in the one that sends."""

from __future__ import annotations

import gc

THRESHOLDS = (20_000, 20, 20)
"""Items, reports, requests and outcomes live long and hold hardly a cycle. Python's own (700, 10, 10) walks them again and
again: some 130 us an item where these need 90."""


def relax() -> None:
    """Walk no more what is there already, and the rest less often."""
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
