"""The embedded decision model: the same numbers as transformers, whatever was asked before."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from harness.backends.config import ModelConfig
from harness.backends.decoder import Cache
from harness.backends.pico import FOLDER, Pico, chat, decoder, merge
from harness.backends.pico_tokens import Tokens
from harness.backends.weights import checkpoint_sha256, read_safetensors
from harness.build import Asked, Selection, family
from harness.errors import AdapterError, BackendError
from harness.spec import load_all

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def network():
    return decoder()


@pytest.fixture(scope="module")
def weights():
    return read_safetensors(FOLDER / "model.safetensors")


@pytest.fixture(scope="module")
def tokens():
    return Tokens(FOLDER / "tokenizer.json")


@pytest.fixture(scope="module")
def requests():
    """The first request of every task and table of the metasurface sets."""
    seen, out = set(), []
    for spec in load_all(ROOT, ["metasurface-main", "metasurface-scope"]):
        for key in family(spec).keys(Selection(), sees_images=False):
            if (key.task, key.view) not in seen:
                seen.add((key.task, key.view))
                out.append(family(spec).build(key, Asked("pico", False, "option_letters")))
    return out


def test_the_package_stays_small():
    assert (FOLDER / "model.safetensors").stat().st_size < 10_000_000


def test_it_has_a_few_million_parameters(weights):
    assert 2_000_000 <= sum(w.size for w in weights.values()) <= 4_000_000


def test_every_digit_is_a_token_of_its_own(tokens):
    names = {i: t for t, i in tokens.vocabulary.items()}
    assert [names[i] for i in tokens.ids("1.698,0.494\n450")] == [
        "1", ".", "6", "9", "8", ",0.", "4", "9", "4", "Ċ", "4", "5", "0"]


@pytest.mark.parametrize("letter", "ABCDE")
def test_every_option_letter_is_one_token(tokens, letter):
    assert len(tokens.ids(letter)) == 1


@pytest.mark.parametrize("text", ["", "A", "450,0.410\n460,0.463", "\n\n\n", "λ = 5 µm, 1.5e+02", "a<|im_end|>\nb",
                                  "10,1.5,0."])
def test_tokens_are_those_of_the_tokenizers_package(tokens, text):
    tokenizers = pytest.importorskip("tokenizers")
    there = tokenizers.Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    assert tokens.ids(text) == there.encode(text).ids


def test_the_chat_template_is_the_one_in_the_checkpoint(requests):
    transformers = pytest.importorskip("transformers")
    there = transformers.AutoTokenizer.from_pretrained(FOLDER)
    messages = [{"role": "user", "content": requests[0].text}]
    assert chat(requests[0]) == there.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)


def test_logits_are_those_of_transformers(network, tokens, requests):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    there = transformers.AutoModelForCausalLM.from_pretrained(FOLDER, dtype=torch.float32)
    ids = tokens.ids(chat(requests[-1]))
    with torch.no_grad():
        expected = there(torch.tensor([ids])).logits[0, -1].numpy()
    assert np.abs(network.logits(ids, Cache(network.shape))[0] - expected).max() < 1e-3


def test_an_answer_scores_every_option(requests):
    pico = Pico(ModelConfig("pico", "pico"))
    assert [set(pico.answer(r).option_scores) for r in requests] == [{o.key for o in r.options} for r in requests]


def test_its_probability_lies_on_the_letters(requests):
    pico = Pico(ModelConfig("pico", "pico"))
    assert min(pico.answer(r).label_mass for r in requests) > 0.95


def test_it_reads_tables_well_above_chance():
    """A sixth of the wavelength-worded requests of the trained kinds; chance is 25 to 50 %."""
    (spec,) = load_all(ROOT, ["metasurface-main"])
    pico, right = Pico(ModelConfig("pico", "pico")), []
    for key in list(family(spec).keys(Selection(views=("table_nm", "table_ev")), sees_images=False))[::6]:
        request = family(spec).build(key, Asked("pico", False, "option_letters"))
        if key.task in ("extreme", "compare"):
            scores = pico.answer(request).option_scores
            right.append(max(scores, key=scores.get) == request.truth.expected)
    assert np.mean(right) > 0.7


def test_a_prompt_beyond_its_length_is_an_error(network):
    with pytest.raises(BackendError, match="3000 tokens, more than the context of 2048"):
        network.logits([1] * 3000, Cache(network.shape))


def adapter(folder: Path, rank: int, inputs: int, outputs: int) -> Path:
    safetensors = pytest.importorskip("safetensors.numpy")
    name = "base_model.model.model.layers.0.self_attn.q_proj.lora_{}.weight"
    rng = np.random.default_rng(0)
    safetensors.save_file({name.format("A"): rng.normal(size=(rank, inputs)).astype(np.float32),
                           name.format("B"): rng.normal(size=(outputs, rank)).astype(np.float32)},
                          folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps({"r": rank, "lora_alpha": 2 * rank}))
    return folder


def test_a_lora_is_added_to_its_projection(network, weights, tmp_path):
    merged = dict(weights)
    merge(merged, adapter(tmp_path, 4, network.embedding.shape[1], network.shape.heads * network.shape.head_dim))
    changed = [k for k, w in weights.items() if not np.array_equal(w, merged[k])]
    assert changed == ["model.layers.0.self_attn.q_proj.weight"]


def test_an_adapter_of_another_shape_is_an_error(tmp_path):
    with pytest.raises(AdapterError, match=r"it was trained on another base"):
        decoder(FOLDER, adapter(tmp_path, 4, 64, 64))


def test_other_weights_never_get_the_replies_of_these(tmp_path, requests):
    for file in FOLDER.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    copied = ModelConfig("pico", "pico", options={"folder": str(tmp_path)})
    same = Pico.identity(copied, requests[0])
    checkpoint_sha256.cache_clear()
    (tmp_path / "model.safetensors").write_bytes(bytes((FOLDER / "model.safetensors").read_bytes()[:-1]) + b"\x3d")
    other = Pico.identity(copied, requests[0])
    assert (same, other != same) == (Pico.identity(ModelConfig("pico", "pico"), requests[0]), True)
