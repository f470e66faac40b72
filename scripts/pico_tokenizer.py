"""Train pico's tokenizer: byte-level BPE over short pieces, every digit a piece of its own.

The lead of a response (``,0.`` or ``,1.``) and an exponent (``e+02``) are one piece; the rest of a line between digits
is another, so the fixed sentences of a prompt take a few tokens and a table row of one spectrum about eight. Any other
text still encodes, by bytes. Loads as a fast tokenizer in transformers; ``harness/backends/pico_tokens.py`` reads the
same file without it.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path

from pico_pool import Pool, load_specs
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

PIECES = r",[01]\.|e\+0[0-9]|[0-9]|\n+|[^0-9\n]+?(?=,[01]\.)|[^0-9\n]+"
SPECIALS = ("<|pad|>", "<|im_start|>", "<|im_end|>")
TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' }}{% if m['content'] is string %}{{ m['content'] }}"
    "{% else %}{% for c in m['content'] %}{% if c['type'] == 'text' %}{{ c['text'] }}{% endif %}{% endfor %}{% endif %}"
    "{{ '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def train(specs: Path, vocabulary: int = 1024, sheets: int = 3000) -> Tokenizer:
    pool = Pool(load_specs(specs), seed=99, weights=(0.3, 0.2, 0.2, 0.15, 0.15))
    texts = [f"{s.evidence}{q}" for s in itertools.islice(pool.sheets(), sheets) for q, _ in s.questions]
    tokenizer = Tokenizer(models.BPE(byte_fallback=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PIECES), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=[AddedToken(s, special=True) for s in SPECIALS],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False)
    tokenizer.train_from_iterator(texts + ["user\n", "assistant\n"] * 50 + ["A B C D E F G H"], trainer)
    return tokenizer


def with_words(tokenizer: Tokenizer, words: tuple[str, ...] = ("yes", "no")) -> Tokenizer:
    """The same tokenizer, in which each of ``words`` by itself is one token; servers of typed decisions ask for these.

    The merges come last, so no text that does not hold the pieces next to one another is split otherwise.
    """
    file = json.loads(tokenizer.to_str())
    vocabulary, merges = file["model"]["vocab"], file["model"]["merges"]
    for word in words:
        first, *rest = Tokenizer.from_str(json.dumps(file)).encode(word).tokens
        for piece in rest:
            merges.append([first, piece])
            first += piece
            vocabulary.setdefault(first, len(vocabulary))
    return Tokenizer.from_str(json.dumps(file))


def save(tokenizer: Tokenizer, folder: Path) -> None:
    """tokenizer.json, and what transformers and vLLM read next to it."""
    from transformers import PreTrainedTokenizerFast

    folder.mkdir(parents=True, exist_ok=True)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<|pad|>", eos_token="<|im_end|>",
                                   model_max_length=2048, clean_up_tokenization_spaces=False)
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)


if __name__ == "__main__":
    import sys

    root = Path(__file__).resolve().parents[1]
    save(train(root / "specs"), Path(sys.argv[1]))
