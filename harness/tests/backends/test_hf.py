"""A checkpoint asked in process: which one is loaded. What it answers is compared in harness/tests/vllm."""

import sys
from types import SimpleNamespace

import pytest

from harness.backends.config import ModelConfig
from harness.backends.hf import Transformers


@pytest.fixture
def loaded(monkeypatch) -> list:
    """(name, revision) of everything that transformers is asked to load; a stand-in, as the real one needs the network."""
    asked = []

    class Auto:
        @classmethod
        def from_pretrained(cls, name, revision="main", **more):
            asked.append((name, revision))
            return SimpleNamespace(to=lambda device: SimpleNamespace(eval=lambda: None))

    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(float32=None))
    monkeypatch.setitem(sys.modules, "transformers", SimpleNamespace(AutoModelForCausalLM=Auto, AutoTokenizer=Auto))
    return asked


@pytest.mark.parametrize("revision, wanted", [("abc123", "abc123"), ("", "main")])
def test_the_declared_revision_is_what_is_loaded(loaded, revision, wanted):
    Transformers(ModelConfig("m", "hf", model="some/checkpoint", revision=revision))
    assert loaded == [("some/checkpoint", wanted)] * 2
