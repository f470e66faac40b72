"""Run folders for the tests of pages: real requests of a suite, answered by a rule."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from PIL import Image

from harness import classify
from harness.build import Asked, Selection, family
from harness.outcome import Outcome
from harness.probe import Part, Reading, Request, RequestKey, Response
from harness.report.evidence import Keeper
from harness.report.run import OutcomeLog, write_run
from harness.spec import load_all
from harness.tests.validity.synthetic import answered, right_with

ROOT = Path(__file__).parents[3]
Answer = Callable[[Request], str]
RUN = {"id": "r1", "started": "2026-11-02T10:00:00Z", "seed": 7, "resamples": 200, "specs": {}, "models": {}}


def right(request: Request) -> str:
    return request.truth.expected


def wrong_in(*views: str) -> Answer:
    """Right, but for these views, where it says another option."""

    def answer(request: Request) -> str:
        if request.key.view not in views:
            return request.truth.expected
        return next(o.key for o in request.options if o.key != request.truth.expected)

    return answer


def recorded(
    folder: Path,
    models: dict[str, Answer],
    *,
    spec: str = "gold-scope",
    limit: int = 2,
    views: Sequence[str] = ("table_nm", "table_ev", "plot_nm"),
    reply: str = "",
    **more: Any,
) -> list[Outcome]:
    """A run folder with outcomes, keys and evidence; ``reply`` is what every model is made to have written."""
    declared = load_all(ROOT, [spec])[0]
    made, keeper = [], Keeper(folder)
    for name, answer in models.items():
        for key in family(declared).keys(Selection(views=tuple(views), limit=limit)):
            request = family(declared).build(replace(key, model=name), Asked(name))
            said = answer(request)
            n = len(request.options)
            shares = {o.key: 0.8 if o.key == said else 0.2 / (n - 1) for o in request.options}
            responses = [Response(text=reply, choice=said)]
            keeper.keep(request, responses)
            made.append(
                classify.outcome(
                    request, responses, Reading(said, shares), dataset="gold-simulated", view=declared.view(key.view)
                )
            )
    keeper.close()
    about = {
        spec: {
            "version": declared.version,
            "sha256": declared.sha256,
            "title": declared.title,
            "dataset": {"name": "gold-simulated", "kind": "simulated", "licence": "Apache-2.0"},
        }
    }
    write_run(
        folder,
        {**RUN, "specs": about, "models": {m: {"backend": "scripted"} for m in models}, **more},
        [o.key for o in made],
    )
    log(folder, made)
    return made


def log(folder: Path, outcomes: Sequence[Outcome]) -> None:
    (folder / "outcomes.jsonl").unlink(missing_ok=True)
    with OutcomeLog(folder) as file:
        for o in outcomes:
            file.append(o)


def many(folder: Path, n: int = 5000, pictures: int = 1500) -> list[Outcome]:
    """``n`` synthetic requests with that many distinct pictures of the weight of a plot (about 11 kB)."""
    draw, keeper, made = random.Random(3), Keeper(folder), []
    source = answered(right_with(0.7), n=48, model="m") + answered(right_with(0.5), n=48, model="m2")
    for i, o in enumerate(source[:n]):
        table = "\n".join(f"{450 + 5 * k},{draw.random():.3f},{draw.random():.3f}" for k in range(60))
        parts = (
            (Part(text=f"wavelength_nm,transmission_A,transmission_B\n{table}"),)
            if o.modality == "table"
            else (
                Part(image=_picture(draw, i % pictures), media_type="image/png"),
                Part(text="The plot shows two spectra."),
            )
        )
        request = Request(
            RequestKey.parse(o.key), parts, f"Which one, {i // 6}?", (), "decision", f"Question {i // 6}\n- A\n- B"
        )
        keeper.keep(request)
        made.append(replace(o, request_sha256=request.sha256, options=["A", "B"], probabilities={"A": 0.7, "B": 0.3}))
    keeper.close()
    write_run(folder, {**RUN, "models": {"m": {}, "m2": {}}}, [o.key for o in made])
    log(folder, made)
    return made


_DRAWN: dict[int, bytes] = {}


def _picture(draw: random.Random, number: int) -> bytes:
    if number not in _DRAWN:
        import io

        noise = Image.frombytes("L", (200, 75), draw.randbytes(15000)).point(lambda v: v // 6).convert("P")
        out = io.BytesIO()
        noise.save(out, "PNG")
        _DRAWN[number] = out.getvalue()
    return _DRAWN[number]
