"""The same adapter in process and as a LoRA module of a real vLLM server, loaded while the server runs.

Needs vLLM (``scripts/vllm_cpu.py`` sets it up on a machine without a GPU) and the train extra, which makes the adapter.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest

from harness.adaptation import pools
from harness.adaptation.adapters import expand
from harness.adaptation.base import find
from harness.adaptation.spec import load_arm
from harness.backends.base import create
from harness.backends.config import ModelConfig
from harness.backends.vllm import load_adapter, serve
from harness.build import Asked, Selection, family
from harness.probe import Request
from harness.readouts.option_letters import read
from harness.spec import load_all

ROOT = Path(__file__).resolve().parents[3]
PYTHON = Path(os.environ.get("ISOPROBE_VLLM_PYTHON", ROOT / ".venv-vllm" / "bin" / "python"))
pytestmark = [pytest.mark.vllm, pytest.mark.slow,
              pytest.mark.skipif(not PYTHON.exists(), reason=f"no vLLM at {PYTHON}; run scripts/vllm_cpu.py")]
pytest.importorskip("peft", reason="the train extra is not installed")

SERVED = {
    "python": str(PYTHON),
    "serve_args": ["--dtype", "float32", "--max-model-len", "2048", "--enforce-eager"],
    "env": {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1",
            "VLLM_CPU_OMP_THREADS_BIND": f"0-{(os.cpu_count() or 1) - 1}"},
}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A working folder with one briefly trained adapter of pico, and a declared server of the same checkpoint."""
    from harness.adaptation.loop import train

    root = tmp_path_factory.mktemp("served")
    (root / "specs").mkdir()
    base = find("pico", ROOT)
    (root / "specs" / "models.yaml").write_text(f"models: {{pico-served: {{backend: vllm, model: {base.checkpoint}}}}}")
    arm = load_arm("cpu-ftC", ROOT)
    arm = replace(arm, sample=96, rule=replace(arm.rule, keep="last", epochs=1))
    train(arm, 0, base, pools.split(arm, ROOT, "option_letters"), root / ".isoprobe" / "adapters" / "cpu-ftC" / "0",
          bar=False)
    return root


@pytest.fixture(scope="module")
def requests() -> list[Request]:
    """Every task of the metasurface sets on all tables, the first two instances of each: more than a hundred."""
    out = []
    for spec in load_all(ROOT, ["metasurface-main", "metasurface-scope"]):
        keys = list(family(spec).keys(Selection(limit=2), sees_images=False))
        out += [family(spec).build(key, Asked("pico", False, "option_letters")) for key in keys]
    return out


def choices(config: ModelConfig, requests: list[Request]) -> list[str | None]:
    backend = create(config)

    async def ask() -> list:
        gate = asyncio.Semaphore(8)

        async def one(request: Request):
            async with gate:
                return await backend.complete(request)
        try:
            return await asyncio.gather(*map(one, requests))
        finally:
            await backend.close()

    return [read(q, a).choice for q, a in zip(requests, asyncio.run(ask()), strict=True)]


def test_a_served_adapter_decides_as_in_process(root, requests, tmp_path):
    pico = ModelConfig("pico-served", "vllm", model=find("pico", ROOT).checkpoint, readout="option_letters",
                       options=SERVED)
    base, adapter = expand({"pico-served": pico}, ["none", "cpu-ftC/0"], root).values()
    inside = ModelConfig("pico", "pico", readout="option_letters", adapter=adapter.adapter,
                         options={"adapter_folder": adapter.options["adapter_folder"]})
    server = serve(base, tmp_path)
    try:
        load_adapter(server.base_url, adapter)
        load_adapter(server.base_url, adapter)  # a second process finds it there
        there = choices(replace(adapter, base_url=server.base_url), requests)
        plain = choices(replace(base, base_url=server.base_url), requests)
    finally:
        server.stop()
    here, unadapted = choices(inside, requests), choices(replace(inside, adapter="", options={}), requests)
    agree = sum(a == b for a, b in zip(there, here, strict=True)) / len(requests)
    agree_plain = sum(a == b for a, b in zip(plain, unadapted, strict=True)) / len(requests)
    print(f"{len(requests)} requests: adapter {100 * agree:.1f} %, base {100 * agree_plain:.1f} % as in process")
    assert (agree >= 0.99, agree_plain >= 0.99, there != plain) == (True, True, True)
