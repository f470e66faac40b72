"""Safetensors files read by numpy: values, and what is wrong with a file that cannot be used."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

from harness.backends.weights import read_header, read_safetensors
from harness.errors import AdapterError


def file_of(tensors: dict[str, tuple[str, list[int], bytes]]) -> bytes:
    header, body = {}, b""
    for name, (kind, shape, raw) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    return struct.pack("<Q", len(text)) + text + body


@pytest.fixture
def path(tmp_path):
    return tmp_path / "adapter_model.safetensors"


def test_float32_values_come_back_in_their_shape(path):
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    path.write_bytes(file_of({"w": ("F32", [2, 3], values.tobytes())}))
    assert read_safetensors(path)["w"].tolist() == values.tolist()


def test_bf16_is_the_upper_half_of_float32(path):
    values = np.array([1.0, -2.5, 0.15625], np.float32)
    path.write_bytes(file_of({"w": ("BF16", [3], (values.view(np.uint32) >> 16).astype(np.uint16).tobytes())}))
    assert read_safetensors(path)["w"].tolist() == values.tolist()


@pytest.mark.parametrize("missing", [1, 8, 20])
def test_a_file_cut_short_is_an_error_that_gives_both_lengths(path, missing):
    whole = file_of({"w": ("F32", [8], bytes(32))})
    path.write_bytes(whole[:-missing])
    lengths = f"{len(whole) - missing:,} bytes where its header announces {len(whole):,}"
    with pytest.raises(AdapterError, match=lengths):
        read_header(path)


@pytest.mark.parametrize("content", [b"", b"abc", struct.pack("<Q", 10**12) + b"{}", struct.pack("<Q", 4) + b"nope"])
def test_something_else_is_an_error(path, content):
    path.write_bytes(content)
    with pytest.raises(AdapterError, match="not a complete safetensors file"):
        read_header(path)


def test_a_missing_file_is_an_error(path):
    with pytest.raises(AdapterError, match="no such file"):
        read_header(path)


def test_an_unknown_type_is_named(path):
    path.write_bytes(file_of({"w": ("F8_E4M3", [1], b"\0")}))
    with pytest.raises(AdapterError, match="tensor 'w' is F8_E4M3; valid: BF16, F32"):
        read_safetensors(path)
