"""Reads safetensors files with numpy alone: eight bytes of header length, a JSON header, then the raw arrays."""

from __future__ import annotations

import functools
import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import AdapterError

TYPES = {"F32": np.float32, "F16": np.float16, "F64": np.float64, "I64": np.int64, "I32": np.int32, "U8": np.uint8}
MAX_HEADER = 50_000_000


def read_header(path: Path) -> dict[str, dict[str, Any]]:
    """Tensor name -> dtype, shape, data_offsets; checks that the file is as long as its header says.

    Raises:
        AdapterError: no such file, no safetensors file, or one that was cut short.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if not 2 <= length <= min(MAX_HEADER, size - 8):
                raise ValueError(f"a header of {length} bytes")
            header: dict[str, dict[str, Any]] = json.loads(file.read(length))
    except FileNotFoundError:
        raise AdapterError(f"{path}: no such file; train the adapter, or give the folder that holds it") from None
    except (struct.error, ValueError) as error:
        raise AdapterError(f"{path}: not a complete safetensors file ({error}); it was cut short or is something else. "
                           "Remove it and train again: training goes on from the last whole epoch") from None
    header.pop("__metadata__", None)
    wanted = 8 + length + max((t["data_offsets"][1] for t in header.values()), default=0)
    if size != wanted:
        raise AdapterError(f"{path}: {size:,} bytes where its header announces {wanted:,}: the file was cut short. "
                           "Remove it and train again: training goes on from the last whole epoch")
    return header


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    """Every tensor; bf16 comes as float32. Raises AdapterError, see :func:`read_header`."""
    header = read_header(path)
    raw = path.read_bytes()
    start = 8 + struct.unpack("<Q", raw[:8])[0]
    out = {}
    for name, tensor in header.items():
        lo, hi = tensor["data_offsets"]
        data = raw[start + lo : start + hi]
        if tensor["dtype"] == "BF16":
            values = (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32)
        elif tensor["dtype"] in TYPES:
            values = np.frombuffer(data, TYPES[tensor["dtype"]])
        else:
            raise AdapterError(f"{path}: tensor {name!r} is {tensor['dtype']}; valid: BF16, {', '.join(TYPES)}")
        out[name] = values.reshape(tensor["shape"])
    return out


WHOLE = 64_000_000
SAMPLES, BLOCK = 256, 65_536
IDENTIFYING = ("*.safetensors", "*.json", "*.jinja", "*.model", "*.bin", "*.gguf")


@functools.cache
def checkpoint_sha256(checkpoint: str) -> str:
    """What tells a checkpoint in a folder here from any other; "" for the name of one elsewhere, whose revision tells.

    A hash of its weights, configuration, tokenizer and chat template. Part of the identity of a reply, so that a
    checkpoint that was trained again never gets the replies of its predecessor. Of a file of more than ``WHOLE`` bytes,
    its size and ``SAMPLES`` even blocks count.
    """
    folder = Path(checkpoint)
    if not folder.is_dir():
        return ""
    seen = hashlib.sha256()
    for path in sorted({p for pattern in IDENTIFYING for p in folder.glob(pattern)}):
        seen.update(f"{path.name} {path.stat().st_size}\n".encode())
        _add(seen, path)
    return seen.hexdigest()


@functools.cache
def file_sha256(path: Path) -> str:
    """The same of one file of weights; "" where there is none."""
    seen = hashlib.sha256()
    if not path.is_file():
        return ""
    seen.update(f"{path.stat().st_size}\n".encode())
    _add(seen, path)
    return seen.hexdigest()


def _add(seen: Any, path: Path) -> None:
    size = path.stat().st_size
    with path.open("rb") as file:
        if size <= WHOLE:
            seen.update(file.read())
            return
        for k in range(SAMPLES):
            file.seek(k * (size - BLOCK) // (SAMPLES - 1))
            seen.update(file.read(BLOCK))
