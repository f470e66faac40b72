"""The numpy decoder and the reader of GGUF files: exact, whatever was asked before, and clear about files it can't read."""

import struct

import numpy as np
import pytest

from harness.backends.decoder import CHUNK, Cache, Decoder, Shape, log_softmax
from harness.backends.gguf import BLOCKS, read_gguf
from harness.errors import BackendError

SHAPE = Shape(layers=2, heads=4, kv_heads=2, head_dim=8, theta=10000.0, epsilon=1e-5, context=300)
WIDTH, INNER, VOCABULARY = 24, 40, 50
RNG = np.random.default_rng(7)
SIZES = {"self_attn.q_proj": (32, WIDTH), "self_attn.k_proj": (16, WIDTH), "self_attn.v_proj": (16, WIDTH),
         "self_attn.o_proj": (WIDTH, 32), "mlp.gate_proj": (INNER, WIDTH), "mlp.up_proj": (INNER, WIDTH),
         "mlp.down_proj": (WIDTH, INNER), "input_layernorm": (WIDTH,), "post_attention_layernorm": (WIDTH,)}
WEIGHTS = {f"model.layers.{i}.{name}.weight": RNG.normal(0.2, 0.3, size).astype(np.float32)
           for i in range(2) for name, size in SIZES.items()} | {
    "model.embed_tokens.weight": RNG.normal(size=(VOCABULARY, WIDTH)).astype(np.float32),
    "model.norm.weight": np.ones(WIDTH, np.float32)}
IDS = [int(i) for i in RNG.integers(0, VOCABULARY, 3 * CHUNK + 17)]
LONG = IDS[: 3 * CHUNK + 17]


def slow(ids):
    """Logits of every position, one position and one head at a time, in double precision, straight from the formulas."""
    w = {k: v.astype(np.float64) for k, v in WEIGHTS.items()}

    def normed(x, weight):
        return x / np.sqrt((x * x).mean() + SHAPE.epsilon) * weight

    def turned(x, position):
        out, half = np.empty(8), 4
        for j in range(half):
            angle = position / SHAPE.theta ** (2 * j / 8)
            out[j] = x[j] * np.cos(angle) - x[half + j] * np.sin(angle)
            out[half + j] = x[half + j] * np.cos(angle) + x[j] * np.sin(angle)
        return out

    rows = [w["model.embed_tokens.weight"][i] for i in ids]
    for layer in range(SHAPE.layers):
        at = {name: w[f"model.layers.{layer}.{name}.weight"] for name in SIZES}
        normal = [normed(x, at["input_layernorm"]) for x in rows]
        keys = [[turned(k, p) for k in (at["self_attn.k_proj"] @ h).reshape(2, 8)] for p, h in enumerate(normal)]
        values = [(at["self_attn.v_proj"] @ h).reshape(2, 8) for h in normal]
        out = []
        for p, (x, h) in enumerate(zip(rows, normal, strict=True)):
            mixed = []
            for head, q in enumerate((at["self_attn.q_proj"] @ h).reshape(4, 8)):
                q, group = turned(q, p), head // 2
                scores = np.array([q @ keys[j][group] / np.sqrt(8) for j in range(p + 1)])
                shares = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
                mixed.append(sum(s * values[j][group] for j, s in enumerate(shares)))
            x = x + at["self_attn.o_proj"] @ np.concatenate(mixed)
            h = normed(x, at["post_attention_layernorm"])
            gate = at["mlp.gate_proj"] @ h
            out.append(x + at["mlp.down_proj"] @ (gate / (1 + np.exp(-gate)) * (at["mlp.up_proj"] @ h)))
        rows = out
    return np.array([w["model.embed_tokens.weight"] @ normed(x, w["model.norm.weight"]) for x in rows])


@pytest.fixture
def decoder():
    return Decoder(SHAPE, WEIGHTS)


def test_logits_are_those_of_the_formulas(decoder):
    ids = IDS[: CHUNK + 20]
    assert decoder.logits(ids, Cache(SHAPE), last=30) == pytest.approx(slow(ids)[-30:], abs=1e-3)


@pytest.mark.parametrize("before", [
    pytest.param(LONG, id="the same"),
    pytest.param(LONG[:CHUNK], id="its first chunk"),
    pytest.param(LONG[: CHUNK + 5], id="its beginning"),
    pytest.param([*LONG[: 2 * CHUNK + 1], *LONG[:60]], id="another end"),
    pytest.param(LONG[:-1][::-1], id="other evidence"),
    pytest.param([*LONG, 3, 4], id="a longer one"),
])
@pytest.mark.parametrize("last", [1, 20, CHUNK + 3])
def test_what_was_asked_before_changes_no_bit(decoder, before, last):
    cache = Cache(SHAPE)
    decoder.logits(before, cache)
    after = decoder.logits(LONG, cache, last=last)
    assert np.array_equal(after, decoder.logits(LONG, Cache(SHAPE), last=last))


def test_an_interrupted_evaluation_leaves_nothing_to_reuse(decoder, monkeypatch):
    cache = Cache(SHAPE)
    decoder.logits(LONG, cache)
    with monkeypatch.context() as patch:
        patch.setattr(decoder, "_layer", lambda *a: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            decoder.logits([*LONG[:CHUNK], 1], cache)
    assert cache.ids == []


def test_shared_evidence_is_evaluated_once(decoder, monkeypatch):
    cache, chunks = Cache(SHAPE), []
    decoder.logits(LONG, cache)
    whole = Decoder._chunk
    monkeypatch.setattr(Decoder, "_chunk", lambda self, ids, start, *more: chunks.append(start) or whole(
        self, ids, start, *more))
    decoder.logits([*LONG[: 2 * CHUNK + 9], 1, 2, 3], cache)
    assert chunks == [2 * CHUNK]


def test_log_probabilities_sum_to_one(decoder):
    assert np.exp(log_softmax(decoder.logits(LONG, Cache(SHAPE)))).sum() == pytest.approx(1)


def test_a_gate_far_below_zero_is_closed_without_a_warning(recwarn):
    weights = WEIGHTS | {n: w * 1000 for n, w in WEIGHTS.items() if "gate" in n}
    assert np.isfinite(Decoder(SHAPE, weights).logits(IDS[:20], Cache(SHAPE))).all()
    assert list(recwarn) == []


# -- GGUF -----------------------------------------------------------------------------------------------------------------


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def pair(name, kind, value):
    return text(name) + struct.pack("<I", kind) + value


def gguf(architecture="llama", tensors=(), more=()):
    """A file in the format's own bytes; a tensor is (name, shape, kind, bytes)."""
    numbers = {"block_count": 1, "attention.head_count": 2, "attention.head_count_kv": 1, "embedding_length": 32,
               "context_length": 64}
    pairs = [pair("general.architecture", 8, text(architecture)),
             *(pair(f"{architecture}.{n}", 4, struct.pack("<I", v)) for n, v in numbers.items()),
             pair(f"{architecture}.attention.layer_norm_rms_epsilon", 6, struct.pack("<f", 0.5)),
             pair("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 2) + text("a") + text("b")),
             pair("tokenizer.ggml.scores", 9, struct.pack("<IQ", 6, 3) + bytes(12)), *more]
    head, data = b"", b""
    for name, shape, kind, raw in tensors:
        head += text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape[::-1])
        head += struct.pack("<IQ", kind, len(data))
        data += raw + bytes(-len(raw) % 32)
    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs)) + b"".join(pairs) + head
    return out + bytes(-len(out) % 32) + data


Q = np.arange(16, dtype=np.uint8) | (15 - np.arange(16, dtype=np.uint8)) << 4
QUANTA = np.concatenate([np.arange(16), 15 - np.arange(16)])


@pytest.mark.parametrize("kind, raw, expected", [
    ("F32", np.arange(32, dtype="<f4").tobytes(), np.arange(32)),
    ("F16", np.arange(32).astype("<f2").tobytes(), np.arange(32)),
    ("Q4_0", np.float16(0.5).tobytes() + Q.tobytes(), 0.5 * (QUANTA - 8)),
    ("Q4_1", np.float16(0.5).tobytes() + np.float16(-3).tobytes() + Q.tobytes(), 0.5 * QUANTA - 3),
    ("Q8_0", np.float16(0.25).tobytes() + np.arange(-16, 16, dtype=np.int8).tobytes(), 0.25 * np.arange(-16, 16)),
])
def test_every_kind_of_block_is_read(tmp_path, kind, raw, expected):
    (tmp_path / "m.gguf").write_bytes(gguf(tensors=[("output_norm.weight", (32,), BLOCKS[kind][0], raw)]))
    shape, weights = read_gguf(tmp_path / "m.gguf")
    assert weights["model.norm.weight"].tolist() == expected.tolist()
    assert shape == Shape(layers=1, heads=2, kv_heads=1, head_dim=16, theta=10000.0, epsilon=0.5, context=64)


def test_rotary_pairs_of_llama_lie_half_a_head_apart(tmp_path):
    rows = np.repeat(np.arange(32, dtype="<f4")[:, None], 32, axis=1)
    (tmp_path / "m.gguf").write_bytes(gguf(tensors=[("blk.0.attn_q.weight", (32, 32), 0, rows.tobytes())]))
    _, weights = read_gguf(tmp_path / "m.gguf")
    order = weights["model.layers.0.self_attn.q_proj.weight"][:, 0]
    assert order.tolist() == [*range(0, 16, 2), *range(1, 16, 2), *range(16, 32, 2), *range(17, 32, 2)]


@pytest.mark.parametrize("raw, message", [
    (b"", "not a complete GGUF file"),
    (b"GGML" + bytes(60), "it does not begin with GGUF"),
    (b"GGUF" + struct.pack("<IQQ", 9, 0, 0), "version 9"),
    (gguf()[:80], "not a complete GGUF file"),
    (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1 << 60) + b"x" * 40, "a text of 1,152,921,504,606,846,976"),
    (gguf(tensors=[("output_norm.weight", (32,), 0, bytes(64))]), "not a complete GGUF file"),
    (gguf("gemma3"), "architecture 'gemma3'; read here: llama, qwen3. Serve this file"),
    (gguf(tensors=[("blk.0.attn_q.bias", (32,), 0, bytes(128))]), r"tensor blk.0.attn_q.bias \(a bias.*Serve this file"),
    (gguf(tensors=[("rope_freqs.weight", (32,), 0, bytes(128))]), "tensor rope_freqs.weight .* is not read here"),
    (gguf(tensors=[("output_norm.weight", (33,), BLOCKS["Q8_0"][0], bytes(96))]), "not a complete GGUF file"),
    (gguf(more=[pair("general.alignment", 4, bytes(4))]), "not a complete GGUF file"),
    (gguf(more=[text("deep") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 5000]), "not a complete GGUF file"),
    (gguf(tensors=[("output_norm.weight", (32,), 12, bytes(64))]), "quantized as type 12; read here: F32, F16"),
])
def test_a_file_that_cannot_be_read_says_why(tmp_path, raw, message):
    (tmp_path / "m.gguf").write_bytes(raw)
    with pytest.raises(BackendError, match=message) as caught:
        read_gguf(tmp_path / "m.gguf")
    assert "m.gguf" in str(caught.value)
