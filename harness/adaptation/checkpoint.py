"""What a training run leaves on disk, written so that a kill at any moment costs one epoch at most.

    ARM/SEED/
      run.json                    the recipe, the base, counts, versions
      log.jsonl                   one line an epoch
      epochs/2/                   adapter_model.safetensors, adapter_config.json, optimizer.safetensors, point.json
      adapter_model.safetensors   the kept epoch, in peft's format: what transformers, vLLM and the numpy runtime load
      adapter_config.json
      curve.png

An epoch's folder appears whole, by renaming. Optimizer states of earlier epochs are removed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..backends.weights import read_header
from ..errors import AdapterError
from .epochs import Point

if TYPE_CHECKING:
    import torch

WEIGHTS, CONFIG, OPTIMIZER, POINT = ("adapter_model.safetensors", "adapter_config.json", "optimizer.safetensors",
                                     "point.json")


class Folder:
    """One adapter's folder."""

    def __init__(self, path: Path):
        self.path = path

    @property
    def finished(self) -> bool:
        return (self.path / WEIGHTS).is_file()

    def curve(self) -> list[Point]:
        """Points of the whole epochs, in order.

        Raises:
            AdapterError: an epoch's weights were cut short; names the file.
        """
        out = []
        while (epoch := self.path / "epochs" / str(len(out) + 1)).is_dir():
            read_header(epoch / WEIGHTS)
            point = json.loads((epoch / POINT).read_text("utf-8"))
            out.append(Point(point["epoch"], point["accuracy"], point["loss"]))
        return out

    def describe(self, run: Mapping[str, Any]) -> None:
        """Write run.json, or check that the folder belongs to the same recipe, seed, base and data.

        Raises:
            AdapterError: it belongs to another; says what differs.
        """
        path = self.path / "run.json"
        if path.is_file():
            old = json.loads(path.read_text("utf-8"))
            differ = [k for k in ("arm", "seed", "base", "fingerprint", "data_sha256") if old.get(k) != run.get(k)]
            if differ:
                raise AdapterError(f"{self.path}: holds a run with another {', '.join(differ)}; "
                                   "remove the folder, or train into another one with --out")
            return
        self.path.mkdir(parents=True, exist_ok=True)
        write(path, json.dumps(run, indent=2, ensure_ascii=False) + "\n")

    def save_epoch(self, point: Point, adapter: dict[str, torch.Tensor], config: Mapping[str, Any],
                   optimizer: dict[str, torch.Tensor], log: Mapping[str, Any]) -> None:
        from safetensors.torch import save_file

        part = self.path / "epochs" / f"{point.epoch}.part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        save_file(adapter, part / WEIGHTS)
        save_file(optimizer, part / OPTIMIZER)
        (part / CONFIG).write_text(json.dumps(config, indent=2) + "\n", "utf-8")
        (part / POINT).write_text(json.dumps(dict(log)) + "\n", "utf-8")
        part.replace(self.path / "epochs" / str(point.epoch))
        (self.path / "epochs" / str(point.epoch - 1) / OPTIMIZER).unlink(missing_ok=True)
        self.write_log()

    def write_log(self) -> None:
        """log.jsonl from the epochs' own points, so that it never disagrees with them."""
        points = sorted((int(p.parent.name), p) for p in (self.path / "epochs").glob(f"*/{POINT}")
                        if p.parent.name.isdigit())
        write(self.path / "log.jsonl", "".join(p.read_text("utf-8") for _, p in points))

    def load_epoch(self, epoch: int) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
        """Adapter and optimizer tensors of a whole epoch. Raises AdapterError on a file cut short."""
        from safetensors.torch import load_file

        folder = self.path / "epochs" / str(epoch)
        for name in (WEIGHTS, OPTIMIZER):
            read_header(folder / name)
        return load_file(folder / WEIGHTS), load_file(folder / OPTIMIZER)

    def keep(self, epoch: int) -> None:
        """Make an epoch's weights the adapter."""
        folder = self.path / "epochs" / str(epoch)
        for name in (CONFIG, WEIGHTS):  # weights last: their presence says that the run is finished
            part = self.path / f"{name}.part"
            shutil.copyfile(folder / name, part)
            part.replace(self.path / name)


def write(path: Path, text: str) -> None:
    part = path.with_name(path.name + ".part")
    part.write_text(text, "utf-8")
    os.replace(part, path)
