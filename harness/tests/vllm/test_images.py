"""Plots through a real server: a vision-language model of random weights answers nonsense, but it is shown the images."""

import json

import pytest

from harness.tests.plugin.session import session
from harness.tests.vllm.served import TINY, entry, folder


def letters_only() -> dict:
    """Random weights never prefer a letter: nothing else is allowed, and the probabilities are those that are left."""
    vocabulary = json.loads((TINY / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    return {"extra_body": {"allowed_token_ids": [vocabulary[c] for c in "ABCDEFGH"]}}


@pytest.fixture(scope="module")
def plots(tmp_path_factory):
    model = entry(TINY, "option_letters", "--logprobs-mode", "processed_logprobs", "--limit-mm-per-prompt",
                  '{"image": 3}', options=letters_only()) | {"modalities": ["text", "image"]}
    path = folder(tmp_path_factory.mktemp("plots") / "p", {"eyes": model})
    return session(path, "--spec", "gold-main", "--limit", "1", "--views", "plot_nm,plot_ev,table_nm", "--model", "eyes",
                   timeout=900)


def test_image_requests_are_answered(plots):
    assert plots.status == 0, plots.text
    rows = list(plots.rows().values())
    assert {row["modality"] for row in rows} == {"plot", "table"}
    assert {row["status"] for row in rows} == {"usable"}


def test_an_image_takes_its_share_of_the_prompt(plots):
    plot = [row["tokens_in"] for row in plots.rows().values() if row["modality"] == "plot"]
    assert min(plot) > 60


def test_other_pictures_give_other_probabilities(plots):
    pairs = {}
    for row in plots.rows().values():
        if row["modality"] == "plot":
            pairs.setdefault((row["task"], row["variant"]), []).append(tuple(sorted(row["probabilities"].values())))
    assert any(len(set(found)) > 1 for found in pairs.values())
