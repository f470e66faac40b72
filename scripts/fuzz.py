"""Coverage-guided fuzzing of the readers with atheris, for longer searches than the tests of ``harness/tests/fuzz`` make.

    python -m venv /tmp/fuzz && /tmp/fuzz/bin/pip install atheris -e '.[data]'
    /tmp/fuzz/bin/python scripts/fuzz.py labelled_lines -max_total_time=60

The first argument names a target, the others are libFuzzer's. It stops at the first exception that is not of
``harness.errors``, at an input that takes 10 seconds, and at 2 GB of memory, and leaves the input in ``crash-...``.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["harness", "csv", "yaml", "openpyxl"]):
    from harness.backends.config import ModelConfig
    from harness.backends.decisions import Decisions
    from harness.backends.transport import understood
    from harness.datasets import moclip, pairs_jsonl, pictures, spectra_table
    from harness.errors import IsoprobeError
    from harness.probe import Option, Request, RequestKey, Response
    from harness.readouts import decision as read_decision
    from harness.readouts import json_choice, labelled_lines
    from harness.report.run import OUTCOMES, read_outcomes
    from harness.spec import load
    from harness.store import decode
    from harness.yamlfile import read_yaml

FOLDER = Path(tempfile.mkdtemp(prefix="isoprobe-fuzz-"))
OPTIONS = (Option("A", "A", "Spectrum A"), Option("B", "B"), Option("undetermined", "cannot be determined"))
LINES = [{"label": "ANSWER", "about": "answer", "space": "set", "members": ["flow", "level"]},
         {"label": "N", "about": "both", "space": "integer"},
         {"label": "SUFFICIENCY", "about": "sufficiency", "space": "choice", "values": ["SUFFICIENT", "INSUFFICIENT"]}]
LIMITS = ("-timeout=10", "-rss_limit_mb=2048")


def request(kind: str) -> Request:
    return Request(RequestKey("s", "t", "i", "v", "table_nm", "plain", 0, "m"), (), "Which?", OPTIONS, kind, "Which?",
                   answer={**LINES[0], "lines": LINES})


def text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def written(name: str, data: bytes) -> Path:
    path = FOLDER / name
    path.write_bytes(data)
    return path


def decision(shape: str):
    backend = Decisions(ModelConfig("m", "decisions", model="m", base_url="http://127.0.0.1:1", options={"shape": shape}))

    def read(data: bytes) -> None:
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            return
        if isinstance(found, dict):
            read_decision.read(request("decision"), understood(lambda d: backend.parse(request("decision"), d), found))

    return read


TARGETS = {
    "yaml": lambda data: read_yaml(written("x.yaml", data)),
    "spec": lambda data: load(written("x.yaml", data)),
    "json_choice": lambda data: json_choice.read(request("json_choice"), Response(text(data))),
    "labelled_lines": lambda data: labelled_lines.read(request("labelled_lines"), Response(text(data))),
    "systemone": decision("systemone"),
    "openai": decision("openai"),
    "openrouter": decision("openrouter"),
    "csv": lambda data: spectra_table.load({"table": written("x.csv", data).name}, FOLDER),
    "xlsx": lambda data: spectra_table.load({"table": written("x.xlsx", data).name}, FOLDER),
    "npz": lambda data: moclip.published(written("x.npz", data), "x"),
    "jsonl": lambda data: pairs_jsonl.load(written("x.jsonl", data), {"log": "text"}, {"space": "integer"}),
    "outcomes": lambda data: read_outcomes(written(OUTCOMES, data).parent),
    "store": lambda data: decode(text(data)),
    "picture": lambda data: pictures.read_picture(data, "x.png"),
}


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in TARGETS:
        sys.exit(f"scripts/fuzz.py TARGET [libFuzzer options]; targets: {', '.join(TARGETS)}")

    def once(data: bytes) -> None:
        with contextlib.suppress(IsoprobeError):
            TARGETS[name](data)

    atheris.Setup([sys.argv[0], *LIMITS, *sys.argv[2:]], once)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
