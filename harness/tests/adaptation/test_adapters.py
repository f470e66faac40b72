"""An adapter is a model: its name, its identity, and the bases it fits."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from harness.adaptation.adapters import adapted, expand, load
from harness.adaptation.base import find
from harness.backends.config import ModelConfig
from harness.errors import AdapterError

ROOT = Path(__file__).resolve().parents[3]
PICO = ModelConfig("pico", "pico", model="pico", readout="option_letters")


def lay(root: Path, name: str, base: str = "pico", weights: float = 1.0, fingerprint: str = "") -> Path:
    """A finished adapter in the working folder of ``root``."""
    arm, seed = name.split("/")
    folder = root / ".isoprobe" / "adapters" / arm / seed
    folder.mkdir(parents=True)
    safetensors = pytest.importorskip("safetensors.numpy")
    safetensors.save_file({"w": np.full(3, weights, np.float32)}, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps({"r": 16, "lora_alpha": 32}))
    (folder / "run.json").write_text(json.dumps({"arm": {"name": arm}, "seed": int(seed), "base": base,
                                                 "fingerprint": fingerprint or find("pico", ROOT).fingerprint}))
    return folder


@pytest.fixture
def root(tmp_path):
    """A working folder with the package's specs."""
    (tmp_path / "specs").symlink_to(ROOT / "specs")
    return tmp_path


def test_an_adapter_of_a_model_is_a_model(root):
    lay(root, "cpu-ftC/0")
    assert adapted(PICO, "cpu-ftC/0", root).name == "pico+cpu-ftC/0"


def test_other_weights_are_another_identity(root):
    lay(root, "cpu-ftC/0", weights=1.0)
    lay(root, "cpu-ftC/1", weights=2.0)
    lay(root, "cpu-ftD/0", weights=1.0)
    hashes = [adapted(PICO, n, root).adapter.split("@")[1] for n in ("cpu-ftC/0", "cpu-ftC/1", "cpu-ftD/0")]
    assert (hashes[0] == hashes[2], hashes[0] == hashes[1]) == (True, False)


def test_where_an_adapter_lies_is_no_part_of_the_identity(root):
    lay(root, "cpu-ftC/0")
    assert str(root) not in json.dumps(adapted(PICO, "cpu-ftC/0", root).identity())


def test_none_keeps_the_base_beside_its_adapters(root):
    lay(root, "cpu-ftC/0")
    assert list(expand({"pico": PICO}, ["none", "cpu-ftC/0"], root)) == ["pico", "pico+cpu-ftC/0"]


def test_without_none_the_adapters_stand_alone(root):
    lay(root, "cpu-ftC/0")
    assert list(expand({"pico": PICO}, ["cpu-ftC/0"], root)) == ["pico+cpu-ftC/0"]


def test_an_adapter_of_another_base_is_an_error(root):
    lay(root, "smoke/0", base="smollm2", fingerprint="another")
    with pytest.raises(AdapterError, match="'smoke/0' was trained on 'smollm2', not on 'pico'; use --model smollm2"):
        adapted(PICO, "smoke/0", root)


def test_an_adapter_of_another_version_of_its_base_is_an_error(root):
    folder = lay(root, "cpu-ftC/0")
    run = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**run, "fingerprint": "0123456789abcdef"}))
    with pytest.raises(AdapterError, match=r"another version of 'pico' .configuration 0123456789abcdef, now "):
        adapted(PICO, "cpu-ftC/0", root)


def test_an_unknown_adapter_gets_a_near_match_and_a_command(root):
    lay(root, "cpu-ftC/0")
    with pytest.raises(AdapterError, match=r"did you mean 'cpu-ftC/0'.*isoprobe train cpu-ftX --seed 0"):
        load("cpu-ftX/0", root)


def test_an_unfinished_adapter_is_an_error_that_says_how_to_go_on(root):
    (lay(root, "cpu-ftC/0") / "adapter_model.safetensors").unlink()
    with pytest.raises(AdapterError, match="not finished; go on with: isoprobe train cpu-ftC --seed 0"):
        load("cpu-ftC/0", root)


def test_weights_cut_short_are_an_error(root):
    path = lay(root, "cpu-ftC/0") / "adapter_model.safetensors"
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(AdapterError, match="the file was cut short"):
        load("cpu-ftC/0", root)


def test_the_same_checkpoint_under_another_name_takes_the_adapter(root):
    lay(root, "cpu-ftC/0", base="the-same-elsewhere")
    assert adapted(PICO, "cpu-ftC/0", root).name == "pico+cpu-ftC/0"


def test_an_adapter_that_fits_none_of_several_models_is_an_error(root):
    lay(root, "smoke/0", base="smollm2", fingerprint="another")
    with pytest.raises(AdapterError, match="trained on 'smollm2', which is not among the models; add --model smollm2"):
        expand({"pico": PICO, "oracle": ModelConfig("oracle", "oracle")}, ["smoke/0"], root)


def test_a_base_and_its_adapters_share_one_server(root, tmp_path):
    """Adapters are loaded while the server runs, so all of them and the base have one command line."""
    from harness.backends.vllm import same_server

    lay(root, "cpu-ftC/0")
    lay(root, "cpu-ftC/1", weights=2.0)
    (root / "specs").unlink()
    (root / "specs").mkdir()
    folder = find("pico", ROOT).checkpoint
    (root / "specs" / "models.yaml").write_text(f"models: {{pico-served: {{backend: vllm, model: {folder}}}}}")
    served = ModelConfig("pico-served", "vllm", model=folder)
    base, *adapters = expand({"pico-served": served}, ["none", "cpu-ftC/0", "cpu-ftC/1"], root).values()
    assert [same_server(base, a) for a in adapters] == [True, True]
