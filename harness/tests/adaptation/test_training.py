"""A real training run: killed and resumed it ends where an unbroken one does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from harness.adaptation import pools
from harness.adaptation.base import Base, find
from harness.adaptation.checkpoint import Folder
from harness.adaptation.spec import load_arm
from harness.errors import AdapterError

ROOT = Path(__file__).resolve().parents[3]
torch = pytest.importorskip("torch", reason="the train extra is not installed")
pytest.importorskip("peft", reason="the train extra is not installed")

from harness.adaptation.loop import Learner, guarded, train  # noqa: E402  (needs the train extra)

TINY = """\
name: tiny
version: 1
title: A few requests
base: pico
pools: [small]
views: [table_nm]
sample: 64
epochs: {keep: last, most: 2}
seeds: [0]
lora: {rank: 4, scale: 8, dropout: 0.05, targets: [q_proj, v_proj], last_layers: 1}
optimizer: {rate: 1.0e-3, accumulate: 8, clip: 1.0}
"""


@pytest.fixture
def recipe(tmp_path) -> Path:
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY, "utf-8")
    return path


@pytest.fixture
def arm(recipe):
    return load_arm(str(recipe), ROOT)


@pytest.fixture
def few(arm):
    """A split of eight and four requests, for what needs no result."""
    split = pools.split(arm, ROOT, "option_letters")
    return replace(arm, sample=None), replace(split, train=split.train[:8], development=split.development[:4])


def run(recipe: Path, out: Path) -> subprocess.Popen:
    """``isoprobe train`` in a process of its own, so that it can be killed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "harness", "train", str(recipe), "--seed", "0", "--out", str(out)]
    return subprocess.Popen([*command, "--threads", "1"], cwd=ROOT, env=environment, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)


def until(there: Path, process: subprocess.Popen) -> None:
    while not there.exists():
        assert process.poll() is None, process.stdout.read().decode()
        time.sleep(0.02)


@pytest.mark.train
def test_a_killed_run_ends_with_the_weights_of_an_unbroken_one(recipe, tmp_path):
    unbroken = run(recipe, tmp_path / "unbroken")
    output = unbroken.communicate()[0].decode()
    assert unbroken.returncode == 0, output
    broken = run(recipe, tmp_path / "broken")
    until(tmp_path / "broken" / "tiny" / "0" / "epochs" / "1", broken)
    broken.send_signal(signal.SIGKILL)
    broken.wait()
    resumed = run(recipe, tmp_path / "broken")
    output = resumed.communicate()[0].decode()
    assert (resumed.returncode, "goes on after epoch 1" in output) == (0, True), output
    weights = [(tmp_path / way / "tiny/0/adapter_model.safetensors").read_bytes() for way in ("unbroken", "broken")]
    assert weights[0] == weights[1]


@pytest.mark.train
def test_training_raises_development_accuracy_well_above_chance(tmp_path):
    """Full spectra and unanswerable truncations: the base never abstains, and has to learn when to."""
    arm = load_arm("cpu-ftD", ROOT)
    arm = replace(arm, rule=replace(arm.rule, epochs=6))
    split = pools.split(arm, ROOT, "option_letters")
    base = find("pico", ROOT)
    before = Learner(base, arm, 0)
    from harness.adaptation.base import Prompter
    from harness.adaptation.batches import examples

    start, _ = before.judge(examples(split.development, Prompter(base)))
    done = train(arm, 0, base, split, tmp_path / "run", bar=False)
    assert (done.kept.accuracy >= 0.8, done.kept.accuracy > start + 0.15) == (True, True)


def test_a_finished_run_is_only_read(few, tmp_path):
    arm, split = few
    base = find("pico", ROOT)
    first = train(arm, 0, base, split, tmp_path / "run", bar=False)
    written = (tmp_path / "run" / "adapter_model.safetensors").stat().st_mtime_ns
    again = train(arm, 0, base, split, tmp_path / "run", bar=False)
    assert (again.curve, (tmp_path / "run" / "adapter_model.safetensors").stat().st_mtime_ns) == (first.curve, written)


def test_the_log_has_a_line_an_epoch(few, tmp_path):
    arm, split = few
    train(arm, 0, find("pico", ROOT), split, tmp_path / "run", bar=False)
    assert (tmp_path / "run" / "log.jsonl").read_text().count("\n") == 2


def test_only_the_adapter_learns(few):
    arm, _ = few
    learner = Learner(find("pico", ROOT), arm, 0)
    assert sum(p.numel() for p in learner.trainable) == learner.parameters


def test_a_folder_of_another_run_is_not_continued(few, tmp_path):
    arm, split = few
    train(arm, 0, find("pico", ROOT), split, tmp_path / "run", bar=False)
    with pytest.raises(AdapterError, match="holds a run with another seed; remove the folder"):
        train(arm, 1, find("pico", ROOT), split, tmp_path / "run", bar=False)


def test_a_checkpoint_cut_short_is_an_error_that_names_the_file(few, tmp_path):
    arm, split = few
    train(arm, 0, find("pico", ROOT), split, tmp_path / "run", bar=False)
    path = tmp_path / "run" / "epochs" / "2" / "adapter_model.safetensors"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(AdapterError, match=r"epochs/2/adapter_model.safetensors: .* the file was cut short"):
        Folder(tmp_path / "run").curve()


def test_a_target_that_the_base_lacks_is_named_with_what_it_has(few):
    arm, _ = few
    with pytest.raises(AdapterError, match=r"no projection 'qkv_proj'.* valid: down_proj, gate_proj, k_proj, o_proj"):
        Learner(find("pico", ROOT), replace(arm, lora=replace(arm.lora, targets=("qkv_proj",))), 0)


def test_running_out_of_memory_says_what_to_lower(few):
    arm, _ = few
    advice = r"out of memory with batch 8; lower or set 'batch' .now 8; .* 'precision: bf16'"
    with pytest.raises(AdapterError, match=advice), guarded(torch, arm):
        raise torch.OutOfMemoryError("tried to allocate 1 TiB")


def test_a_missing_checkpoint_is_no_base():
    with pytest.raises(AdapterError, match=r"is not in specs/models.yaml and no folder with a config.json"):
        find("/no/such/folder", ROOT)


def test_a_base_knows_its_shapes():
    base = find("pico", ROOT)
    assert Base("other", base.checkpoint).fingerprint == base.fingerprint
