"""Makes a model folder that vLLM can serve; run by :mod:`vllm_cpu` in vLLM's own environment.

    python vllm_cpu_models.py smollm2 FILE.gguf FOLDER
    python vllm_cpu_models.py tiny-qwen2vl FOLDER_WITH_TOKENIZER FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import transformers
from transformers import AutoTokenizer, Qwen2VLConfig, Qwen2VLForConditionalGeneration

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness.adaptation.base import dequantize

MARKS = {name: f"<|{name}|>" for name in ("vision_start", "vision_end", "vision_pad", "image_pad", "video_pad")}
TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' }}"
    "{% if m['content'] is string %}{{ m['content'] }}{% else %}{% for part in m['content'] %}"
    "{% if part['type'] in ['image', 'image_url'] %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}{{ '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")


def tiny_qwen2vl(source: Path, folder: Path) -> None:
    """Two layers of text, two of vision, random weights of a fixed seed."""
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(source)
    tokenizer.add_special_tokens({"additional_special_tokens": list(MARKS.values())})
    ids = {name: tokenizer.convert_tokens_to_ids(mark) for name, mark in MARKS.items()}
    text = {
        "vocab_size": len(tokenizer), "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
        "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 8192,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [4, 6, 6]},
        "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2, "tie_word_embeddings": True}
    vision = {"depth": 2, "embed_dim": 64, "hidden_size": 64, "num_heads": 2, "mlp_ratio": 2, "patch_size": 14,
              "spatial_merge_size": 2, "temporal_patch_size": 2, "in_channels": 3}
    config = Qwen2VLConfig(
        text_config=text, vision_config=vision, image_token_id=ids["image_pad"], video_token_id=ids["video_pad"],
        vision_start_token_id=ids["vision_start"], vision_end_token_id=ids["vision_end"], tie_word_embeddings=True)
    model = Qwen2VLForConditionalGeneration(config).to(torch.bfloat16)
    model.config.dtype = torch.bfloat16
    model.save_pretrained(folder)
    tokenizer.chat_template = TEMPLATE
    images = transformers.Qwen2VLImageProcessor(min_pixels=56 * 56, max_pixels=224 * 224)
    transformers.Qwen2VLProcessor(
        image_processor=images, tokenizer=tokenizer, video_processor=transformers.Qwen2VLVideoProcessor(),
        chat_template=TEMPLATE).save_pretrained(folder)


if __name__ == "__main__":
    name, source, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    {"smollm2": dequantize, "tiny-qwen2vl": tiny_qwen2vl}[name](source, folder)
