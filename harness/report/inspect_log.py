"""A run as logs of Inspect (https://inspect.aisi.org.uk), one a suite and model, for its viewer and its data frames.

The format is version 2 of its JSON log. What has no place in it (instance, variant, view, probabilities, claims, the
expected change) stands in a sample's metadata. Intervals are isoprobe's own: clustered by instance, which Inspect's
standard errors are not.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..metrics.metric import load
from ..outcome import LOST, Outcome
from ..rows import Rows
from .document import Document, data_kind
from .evidence import NONE, Evidence
from .highlights import triple

EPOCH = "1970-01-01T00:00:00+00:00"
_STOPS = {"length": "max_tokens", "content_filter": "content_filter"}
_TYPES = {".jpg": "jpeg", ".webp": "webp", ".gif": "gif"}
METADATA = (
    "spec",
    "task",
    "instance",
    "cluster",
    "variant",
    "relation",
    "core",
    "view",
    "modality",
    "unit",
    "template",
    "status",
    "wording",
    "direction",
    "cut",
    "deletion",
    "regime",
    "abstained",
    "confidence",
    "probabilities",
    "claims",
    "readout",
    "request_sha256",
)


def logs(document: Document, evidence: Evidence = NONE, images: bool = True) -> Iterator[tuple[str, bytes]]:
    """(file name, JSON) of each suite and model.

    Args:
        evidence: what was asked; without it a sample's input is its request key.
        images: put the pictures in, as data.
    """
    for spec, part in document.rows.split("spec"):
        for model, rows in part.split("model"):
            created = _time(document.run)
            name = re.sub(r"[^\w.-]+", "-", f"{created[:19].replace(':', '-')}_{spec}_{model}")
            log = _log(document, spec, model, rows, evidence, images, created)
            yield f"{name}.json", json.dumps(log, ensure_ascii=True, indent=1).encode()


def _time(run: Mapping[str, Any]) -> str:
    started = str(run.get("started") or "")
    return f"{started[:-1]}+00:00" if re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", started) else EPOCH


def _log(
    document: Document, spec: str, model: str, rows: Rows, evidence: Evidence, images: bool, created: str
) -> dict[str, Any]:
    about = document.run.get("specs", {}).get(spec, {})
    attempted = [o for o in rows.outcomes if o.status != LOST]
    metrics = {}
    for name in triple(rows):
        metric = load(name)
        estimate = document.resamples.estimate(metric, rows)
        if estimate.value is not None:
            low, high = estimate.interval or (None, None)
            metrics[name] = {
                "name": name,
                "value": estimate.value,
                "params": {},
                "metadata": {"low": low, "high": high, "unit": estimate.unit, "instances": estimate.n_instances},
            }
    dataset = about.get("dataset") or {}
    identity = hashlib.sha256(f"{document.run.get('id')}/{spec}/{model}".encode()).hexdigest()[:22]
    return {
        "version": 2,
        "status": "success" if len(attempted) == len(rows) else "cancelled",
        "eval": {
            "eval_id": identity,
            "run_id": str(document.run.get("id", "")),
            "created": created,
            "task": spec,
            "task_id": identity,
            "task_version": about.get("version", 0),
            "model": f"isoprobe/{model}",
            "config": {},
            "dataset": {
                "name": dataset.get("name"),
                "location": dataset.get("source"),
                "samples": len(rows),
                "shuffled": False,
            },
            "packages": {"isoprobe": str(document.run.get("packages", {}).get("isoprobe", ""))},
            "metadata": {"data": data_kind(document.run, document.rows, spec), "sha256": about.get("sha256")},
        },
        "plan": {"name": "plan", "steps": [{"solver": "isoprobe", "params": {}}], "config": {}},
        "results": {
            "total_samples": len(rows),
            "completed_samples": len(attempted),
            "scores": [{"name": "decision", "scorer": "isoprobe", "params": {}, "metrics": metrics}],
        },
        "stats": {
            "started_at": created,
            "completed_at": created,
            "model_usage": {f"isoprobe/{model}": _usage(attempted)},
        },
        "samples": [_sample(o, evidence, images) for o in attempted],
    }


def _usage(outcomes: list[Outcome]) -> dict[str, int]:
    tokens_in, tokens_out = (sum(getattr(o, c) or 0 for o in outcomes) for c in ("tokens_in", "tokens_out"))
    return {"input_tokens": tokens_in, "output_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}


def _sample(o: Outcome, evidence: Evidence, images: bool) -> dict[str, Any]:
    asked = _messages(o, evidence, images)
    words = "\n\n".join(evidence.replies.get(o.key, ())) or (o.choice or "")
    said = {"role": "assistant", "content": words, "source": "generate", "model": o.served_model or o.model}
    sample: dict[str, Any] = {
        "id": "/".join((o.task, o.instance, o.variant, o.view, o.template)),
        "epoch": o.repeat + 1,
        "input": asked,
        "choices": list(o.options) or None,
        "target": o.expected,
        "messages": [*asked, said],
        "output": {
            "model": o.served_model or o.model,
            "completion": words,
            "time": o.latency_s,
            "choices": [{"message": said, "stop_reason": _STOPS.get(o.finish_reason, "stop")}],
            "usage": _usage([o]),
        },
        "scores": {
            "decision": {
                "value": "C" if o.correct else "I" if o.status == "usable" else "N",
                "answer": o.choice or "",
                "explanation": o.status,
            }
        },
        "metadata": {name: getattr(o, name) for name in METADATA if getattr(o, name) not in ("", None, {})},
        "model_usage": {f"isoprobe/{o.model}": _usage([o])},
    }
    if o.error:
        sample["error"] = {"message": o.error, "traceback": "", "traceback_ansi": ""}
    return sample


def _messages(o: Outcome, evidence: Evidence, images: bool) -> list[dict[str, Any]]:
    content = evidence.requests.get(o.request_sha256)
    if content is None:
        return [{"role": "user", "content": o.key}]
    parts: list[dict[str, Any]] = []
    for part in content.get("evidence", ()):
        if "image" in part:
            path = evidence.images.get(part["image"])
            if images and path:
                data = base64.b64encode(path.read_bytes()).decode()
                parts.append({"type": "image", "image": f"data:image/{_TYPES.get(path.suffix, 'png')};base64,{data}"})
            else:
                parts.append({"type": "text", "text": f"[image {part['image'][:12]}]"})
        else:
            parts.append({"type": "text", "text": evidence.texts.get(part.get("text", ""), "")})
    parts.append({"type": "text", "text": content.get("prompt", "")})
    system = [{"role": "system", "content": content["system"]}] if content.get("system") else []
    return [*system, {"role": "user", "content": parts}]
