"""Asks every prompt through lm-evaluation-harness: PROMPTS URL OUT IN_FLIGHT TRIES. Runs in its own venv."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

prompts, url, out, in_flight, tries = sys.argv[1:]
os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", OPENAI_API_KEY="none", HF_HOME=str(Path(out).parent / "hf"))
TASK = """
task: peers
dataset_path: json
dataset_kwargs: {{data_files: {{test: {prompts}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{prompt}}}}"
doc_to_target: "{{{{target}}}}"
generation_kwargs: {{until: [], max_gen_toks: 2048, temperature: 0}}
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]
"""

if __name__ == "__main__":  # its bootstrap starts processes
    import lm_eval
    from lm_eval.tasks import TaskManager

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "peers.yaml").write_text(TASK.format(prompts=json.dumps(str(Path(prompts).resolve()))), "utf-8")
        found = lm_eval.simple_evaluate(
            model="local-chat-completions", tasks=["peers"], apply_chat_template=True, log_samples=True,
            task_manager=TaskManager(include_path=folder, include_defaults=False),
            model_args={"model": "served", "base_url": f"{url}/chat/completions", "num_concurrent": int(in_flight),
                        "max_retries": int(tries)})
    with open(out, "w", encoding="utf-8") as file:
        for sample in found["samples"]["peers"]:
            file.write(json.dumps({"id": sample["doc"]["id"], "text": sample["resps"][0][0], "error": ""}) + "\n")
