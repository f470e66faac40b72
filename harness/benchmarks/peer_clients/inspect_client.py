"""Asks every prompt through inspect_ai and writes what came of each: PROMPTS URL OUT IN_FLIGHT TRIES."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

prompts, url, out, in_flight, tries = sys.argv[1:]
os.environ.update(OPENAI_BASE_URL=url, OPENAI_API_KEY="none")

from inspect_ai import Task, eval  # noqa: E402
from inspect_ai.dataset import Sample, json_dataset  # noqa: E402
from inspect_ai.model import GenerateConfig  # noqa: E402
from inspect_ai.scorer import includes  # noqa: E402
from inspect_ai.solver import generate  # noqa: E402

dataset = json_dataset(prompts, lambda row: Sample(id=row["id"], input=row["prompt"], target=row["target"]))
settings = GenerateConfig(temperature=0, max_tokens=2048, max_retries=int(tries), max_connections=int(in_flight))
(log,) = eval(Task(dataset=dataset, solver=generate(), scorer=includes()), model="openai/served", display="none",
              model_args={"responses_api": False},
              log_dir=str(Path(out).parent / "logs"), max_samples=int(in_flight), fail_on_error=False,
              **settings.model_dump(exclude_none=True))
with open(out, "w", encoding="utf-8") as file:
    for sample in log.samples or []:
        error = sample.error.message if sample.error else sample.output.error or ""
        file.write(json.dumps({"id": sample.id, "text": sample.output.completion, "error": error}) + "\n")
print(log.status)
