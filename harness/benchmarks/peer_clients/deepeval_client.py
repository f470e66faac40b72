"""Asks every prompt through DeepEval: PROMPTS URL OUT IN_FLIGHT TRIES. Runs in its own venv.

DeepEval asks models inside metrics, so each prompt is a test case and one metric asks its ``LocalModel`` about it.
"""

from __future__ import annotations

import json
import os
import sys

prompts, url, out, in_flight, tries = sys.argv[1:]
os.environ.update(DEEPEVAL_TELEMETRY_OPT_OUT="YES", DEEPEVAL_UPDATE_WARNING_OPT_IN="NO", ERROR_REPORTING="NO",
                  DEEPEVAL_RETRY_MAX_ATTEMPTS=tries, LOCAL_MODEL_API_KEY="none", DEEPEVAL_DISABLE_DOTENV="1")

from deepeval import evaluate  # noqa: E402
from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig  # noqa: E402
from deepeval.metrics import BaseMetric  # noqa: E402
from deepeval.models import LocalModel  # noqa: E402
from deepeval.test_case import LLMTestCase  # noqa: E402

MODEL = LocalModel(model="served", base_url=url, api_key="none", temperature=0)
SAID: dict[str, tuple[str, str]] = {}


class Asked(BaseMetric):
    """Right when the model's reply holds the target."""

    def __init__(self) -> None:
        self.threshold, self.async_mode, self.evaluation_model = 0.5, True, "served"

    async def a_measure(self, test_case: LLMTestCase, *args: object, **settings: object) -> float:
        try:
            text = await MODEL.a_generate(test_case.input)
            text = text[0] if isinstance(text, tuple) else text
            SAID[test_case.name] = (text or "", "")
        except Exception as error:
            SAID[test_case.name] = ("", repr(error))
            raise
        self.score = float(test_case.expected_output in (text or ""))
        self.success = self.score >= self.threshold
        return self.score

    def measure(self, test_case: LLMTestCase, *args: object, **settings: object) -> float:
        raise NotImplementedError

    def is_successful(self) -> bool:
        return bool(self.success)

    @property
    def __name__(self) -> str:
        return "asked"


with open(prompts, encoding="utf-8") as file:
    rows = [json.loads(line) for line in file]
evaluate(
    [LLMTestCase(name=r["id"], input=r["prompt"], expected_output=r["target"], actual_output="-") for r in rows], [Asked()],
    async_config=AsyncConfig(run_async=True, max_concurrent=int(in_flight), throttle_value=0),
    display_config=DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False),
    cache_config=CacheConfig(write_cache=False, use_cache=False), error_config=ErrorConfig(ignore_errors=True))
with open(out, "w", encoding="utf-8") as file:
    for name, (text, error) in SAID.items():
        file.write(json.dumps({"id": name, "text": text, "error": error}) + "\n")
