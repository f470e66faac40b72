"""Small requests and keys for the tests of backends, readouts, store and dispatch."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from harness.backends.base import create
from harness.backends.config import ModelConfig
from harness.backends.meter import Meter
from harness.probe import Option, Part, Request, RequestKey, Response, Truth, View

T = TypeVar("T")
AB = (Option("A", "A", "Spectrum A"), Option("B", "B", "Spectrum B"))
BANDS = (
    Option("450-605", "450-605 nm"),
    Option("605-730", "605-730 nm"),
    Option("undetermined", "cannot be determined", "The data provided are not enough to answer."),
)
VIEW = View("table_nm", "table", "csv", "nm", "ascending")
PNG = b"\x89PNG\r\n\x1a\nnot really"


def key(n: int = 0, model: str = "m", *, view: str = "table_nm", task: str = "compare", repeat: int = 0) -> RequestKey:
    return RequestKey("suite", task, f"{task}-{n:04d}", "orig", view, "plain", repeat, model)


def request(
    readout: str = "decision",
    options: tuple[Option, ...] = AB,
    *,
    at: RequestKey | None = None,
    image: bytes = b"",
    truth: Truth | None = None,
    **more: Any,
) -> Request:
    at = at or key()
    evidence = (Part(text=f"wavelength_nm,transmission\n450,0.{at.instance[-4:]}"),)
    if image:
        evidence += (Part(image=image, media_type="image/png"),)
    return Request(
        at,
        evidence,
        "Which one?",
        options,
        readout,
        "Question: Which one?\nOptions:\n- A\n- B",
        truth=truth or Truth(options[0].key, first=options[0].key),
        **more,
    )


def compose(asked: Request) -> str:
    return "Question: " + asked.question + "\n" + "\n".join(f"- {o.label}" for o in asked.options)


def run(work: Awaitable[T]) -> T:
    async def main() -> T:
        return await work

    return asyncio.run(main())


def ask(config: ModelConfig, *requests: Request, meter: Meter | None = None) -> list[Response]:
    """The replies of a fresh backend, asked at once."""

    async def main() -> list[Response]:
        backend = create(config, meter)
        try:
            return list(await asyncio.gather(*(backend.complete(r) for r in requests)))
        finally:
            await backend.close()

    return asyncio.run(main())
