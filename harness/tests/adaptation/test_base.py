"""The frozen base: what a LoRA adds, and which projections it can adapt."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.adaptation.base import adapted_layers, chosen_targets, find
from harness.adaptation.spec import Lora, load_arm
from harness.errors import AdapterError

ROOT = Path(__file__).resolve().parents[3]
transformers = pytest.importorskip("transformers", reason="the train extra is not installed")
torch = pytest.importorskip("torch", reason="the train extra is not installed")


def skeleton(config):
    """A model of this configuration with no memory behind its weights."""
    with torch.device("meta"):
        return transformers.AutoModelForCausalLM.from_config(config)


def trained(model, lora: Lora) -> int:
    """rank x (inputs + outputs), summed over all adapted projections."""
    return sum(lora.rank * (m.in_features + m.out_features) for m in adapted_layers(model, lora).values())


def qwen35_2b():
    """The shapes of Qwen3.5-2B's language model."""
    return transformers.Qwen3_5TextConfig(
        num_hidden_layers=24, hidden_size=2048, intermediate_size=6144, num_attention_heads=8, num_key_value_heads=2,
        head_dim=256, linear_num_key_heads=16, linear_num_value_heads=16, linear_key_head_dim=128,
        linear_value_head_dim=128)


@pytest.mark.skipif(not hasattr(transformers, "Qwen3_5TextConfig"), reason="this transformers lacks Qwen3.5")
def test_the_paper_s_arms_train_15_630_336_parameters_of_qwen35_2b():
    assert trained(skeleton(qwen35_2b()), load_arm("ftC", ROOT).lora) == 15_630_336


def small():
    return skeleton(transformers.Qwen3Config(
        vocab_size=16, hidden_size=8, intermediate_size=12, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, head_dim=4))


def test_a_lora_adds_rank_times_inputs_and_outputs_a_projection():
    assert trained(small(), Lora(3, 6, 0.0, ("q_proj", "down_proj"))) == 2 * 3 * ((8 + 8) + (12 + 8))


def test_the_last_layers_alone_can_be_adapted():
    assert trained(small(), Lora(3, 6, 0.0, ("q_proj",), last_layers=1)) == 3 * (8 + 8)


def test_projections_of_another_kind_of_layer_are_left_out_where_the_base_has_none():
    assert chosen_targets(small(), Lora(1, 1, 0.0, ("q_proj",), ("in_proj_qkv", "k_proj"))) == ("q_proj", "k_proj")


def test_a_target_that_the_base_lacks_is_an_error_that_names_what_it_has():
    with pytest.raises(AdapterError, match=r"no projection 'c_attn'.* valid: down_proj, gate_proj, k_proj, o_proj"):
        chosen_targets(small(), Lora(1, 1, 0.0, ("c_attn",)))


def test_an_unknown_base_is_an_error_with_a_near_match():
    with pytest.raises(AdapterError, match=r"base 'pic' is not in specs/models.yaml .* did you mean 'pico'"):
        find("pic", ROOT)


def test_a_model_without_weights_here_cannot_be_trained():
    with pytest.raises(AdapterError, match="its backend 'scripted' has no weights here that could be trained"):
        find("coin", ROOT)
