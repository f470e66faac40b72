"""The real language model in this process: the same exact numbers whatever was asked before."""

import math

import pytest

pytest.importorskip("xllamacpp")

from harness.backends.config import ModelConfig
from harness.backends.decoder import Cache, log_softmax
from harness.backends.smollm2 import _checked, _Engine, check_weights, find_weights
from harness.errors import FatalError
from harness.readouts.permute import read
from harness.tests.asking import AB, BANDS, PNG, ask, key, request

try:
    find_weights()
except FatalError:
    pytest.skip("the weights are not installed", allow_module_level=True)

pytestmark = pytest.mark.slow
CONFIG = ModelConfig("smollm2", "smollm2", options={"threads": 1})


def letters(n=0, question="Which one?"):
    return (
        request("option_letters", BANDS, at=key(n))
        if question == "Which one?"
        else request("option_letters", AB, at=key(n))
    )


@pytest.fixture(scope="module")
def replies():
    """The same request first, after itself, after another one on the same evidence, and after other evidence."""
    return ask(CONFIG, letters(1), letters(1), letters(1, "other"), letters(1), letters(2), letters(1))


def test_the_numbers_do_not_depend_on_what_is_cached(replies):
    assert [replies[n].option_scores for n in (1, 3, 5)] == [replies[0].option_scores] * 3


def test_the_letters_hold_a_share_of_the_full_distribution(replies):
    assert 0 < replies[0].label_mass <= 1
    assert math.fsum(map(math.exp, replies[0].option_scores.values())) == pytest.approx(replies[0].label_mass)


def test_two_threads_give_the_numbers_of_one(replies):
    two = ModelConfig("smollm2", "smollm2", options={"threads": 2})
    asked = [letters(n) for n in (1, 1, 2)]
    assert [r.option_scores for r in ask(two, *asked)] == [replies[n].option_scores for n in (0, 0, 4)]


def test_the_decoder_reads_the_weights_as_llama_cpp_does():
    """Whose activations of eight bits move the log-probability of a likely token by up to 0.3."""
    engine = _Engine(CONFIG)
    prompt = engine.prompt(letters(1))
    ours = log_softmax(engine.decoder.logits(prompt, Cache(engine.decoder.shape)))[0]
    asked = {"prompt": prompt, "n_predict": 1, "n_probs": 20, "temperature": 0.0}
    first = _checked(engine.server.handle_completions(asked))["choices"][0]["logprobs"]["content"][0]
    apart = [abs(t["logprob"] - ours[t["id"]]) for t in first["top_logprobs"]]
    assert first["id"] == ours.argmax()
    assert sum(apart) / len(apart) < 0.25


def test_every_letter_has_a_score_and_the_reading_is_a_softmax(replies):
    reading = read([(letters(1), replies[0])])
    assert set(reading.probabilities) == {o.key for o in BANDS}
    assert sum(reading.probabilities.values()) == pytest.approx(1)


def test_option_texts_are_scored_to_their_last_token():
    asked = request("option_text", BANDS)
    first, second = ask(CONFIG, asked, asked)
    assert first.option_scores == second.option_scores
    assert all(n > 1 for n in first.extra["option_tokens"].values())
    assert read([(asked, first)]).choice in {o.key for o in BANDS}


def test_it_writes_json_under_the_schema():
    asked = request("json_choice", AB, sampling={"max_tokens": 80})
    (reply,) = ask(CONFIG, asked)
    assert read([(asked, reply)]).choice in ("A", "B", None)
    assert reply.text.lstrip().startswith("{")


def test_an_image_is_an_honest_error():
    (reply,) = ask(CONFIG, request("option_letters", image=PNG))
    assert "sees no images" in reply.error


def test_a_request_longer_than_the_context_says_so():
    (reply,) = ask(
        ModelConfig("m", "smollm2", options={"threads": 1, "context": 256}),
        request("option_letters", system="word " * 500),
    )
    assert "more than the context of 256" in reply.error


def test_other_weights_under_the_name_are_refused(tmp_path):
    path = tmp_path / "x.gguf"
    path.write_bytes(b"GGUF")
    with pytest.raises(FatalError, match="install the file again"):
        check_weights(path, "0" * 64)
