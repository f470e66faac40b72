"""Model configurations and what --model may say."""

import json
from dataclasses import fields, replace
from pathlib import Path

import jsonschema
import pytest
import yaml

from harness.backends import BACKENDS
from harness.backends.config import READOUTS, ModelConfig, models, resolve
from harness.errors import BackendError, SpecError
from harness.spec import declaration

SPECS = Path(__file__).parents[3] / "specs"
DECLARED = models(yaml.safe_load((SPECS / "models.yaml").read_text()))


def test_the_declared_models_satisfy_their_schema():
    schema = json.loads((SPECS / "schema" / "models.schema.json").read_text())
    jsonschema.validate(yaml.safe_load((SPECS / "models.yaml").read_text()), schema)


def test_every_setting_is_described_in_the_schema():
    schema = json.loads((SPECS / "schema" / "models.schema.json").read_text())
    for part in schema["$defs"].values():
        assert all("description" in p or "$ref" in p for p in part["properties"].values())


def test_every_declared_model_has_a_readout_for_a_decision():
    assert all(c.readout_for("decision") for c in DECLARED.values())


@pytest.mark.parametrize(
    "name",
    [
        "oracle",
        "smollm2",
        "d3-nano",
        "d3-nano-pa",
        "jev-1.13",
        "luna-decisions",
        "luna-gen-none",
        "luna-gen-low",
        "qwen3.5-2b-base",
        "qwen3.5-4b",
        "qwen3.5-9b",
        "gemma-4-e2b",
        "gemma-4-e4b",
        "gemma-4-31b",
        "gemma-4-26b-a4b",
        "qwen3.5-27b",
        "qwen3.5-35b-a3b",
    ],
)
def test_the_models_of_both_papers_are_declared(name):
    assert DECLARED[name].name == name


def test_the_averaged_model_differs_from_its_base_only_in_the_reply_that_is_read():
    assert DECLARED["d3-nano"].identity() == DECLARED["d3-nano-pa"].identity()


def test_a_decision_model_refuses_labelled_lines():
    with pytest.raises(BackendError, match="needs a model that writes text"):
        DECLARED["jev-1.13"].readout_for("labelled_lines")


def test_a_models_own_readout_replaces_the_suites_decision():
    assert DECLARED["luna-gen-none"].readout_for("decision") == "json_choice"


def test_a_backend_that_cannot_do_the_suites_readout_takes_its_preferred_one():
    assert ModelConfig("m", "chat").readout_for("decision") == "json_choice"


@pytest.mark.parametrize(
    "name, backend, model",
    [
        ("chat:org/m@http://127.0.0.1:8000/v1", "chat", "org/m"),
        ("systemone:m@https://host", "decisions", "m"),
        ("openrouter:google/gemma-4-31b-it", "openrouter", "google/gemma-4-31b-it"),
    ],
)
def test_a_model_needs_no_entry(name, backend, model):
    config = resolve(name, {})
    assert (config.name, config.backend, config.model) == (name, backend, model)


@pytest.mark.parametrize(
    "name, message",
    [
        ("orcale", "did you mean 'oracle'"),
        ("chat:m", "the form is chat:NAME@"),
        ("openrouter:gemma", "the form is openrouter:vendor/model"),
        ("chat:m@http://user:secret@host/v1", "user name or password"),
    ],
)
def test_a_wrong_name_says_what_would_be_right(name, message):
    with pytest.raises(BackendError, match=message):
        resolve(name, DECLARED)


def test_a_password_in_an_address_is_not_repeated_in_the_message():
    with pytest.raises(BackendError) as e:
        resolve("chat:m@http://user:hunter2@host/v1", {})
    assert "hunter2" not in str(e.value)


@pytest.mark.parametrize(
    "entry, message",
    [
        ("{backend: caht}", "mine.backend: 'caht' is not a backend; did you mean 'chat'"),
        ("{backend: chat, modle: x}", "mine.modle: unknown property; did you mean 'model'"),
        ("{model: x}", "mine: 'backend' is missing"),
        ("{backend: chat, readout: jsonchoice}", "mine.readout: 'jsonchoice' is not a readout; did you mean 'json_choice'"),
        ("{backend: chat, in_flight: 0}", "mine.in_flight: 0 is less than the minimum of 1"),
        ("{backend: chat, timeout_s: long}", "mine.timeout_s: 'long' is not of type number"),
        ("{backend: chat, permute: shuffle}", "mine.permute: 'shuffle' is not a permutation; valid: , reverse"),
        ("{backend: chat, modalities: [texts]}", "mine.modalities.0: 'texts' is not a modality; did you mean 'text'"),
    ],
)
def test_a_wrong_entry_names_the_line_the_model_and_the_setting(tmp_path, entry, message):
    with pytest.raises(SpecError) as error:
        declared(tmp_path, entry)
    assert f"models.yaml:2: models.{message}" in str(error.value)


def declared(folder, entry):
    (folder / "specs").mkdir()
    (folder / "specs" / "models.yaml").write_text(f"models:\n  mine: {entry}\n")
    return models(declaration(folder, "models").data)


def test_a_readout_that_the_backend_lacks_is_named(tmp_path):
    with pytest.raises(BackendError, match=r"models\.mine\.readout: backend 'decisions' has no readout 'json_choice'"):
        declared(tmp_path, "{backend: decisions, readout: json_choice}")


@pytest.mark.parametrize("entry, message", [
    ({"backend": "caht"}, "models.mine.backend: 'caht' is not a backend; did you mean 'chat'"),
    ({"backend": "chat", "modle": "x"}, "models.mine.modle: unknown setting; did you mean 'model'"),
])
def test_what_a_run_of_another_version_recorded_is_told_by_name(entry, message):
    with pytest.raises(BackendError, match=message):
        models({"mine": entry})


def test_a_run_without_models_has_no_configurations():
    assert models({}) == {}


def test_a_password_in_a_declared_address_is_not_repeated_in_the_message(tmp_path):
    with pytest.raises(SpecError, match=r"models\.mine\.base_url: 'http://\.\.\.@host/v1' does not fit") as error:
        declared(tmp_path, "{backend: chat, base_url: 'http://user:hunter2@host/v1'}")
    assert "hunter2" not in str(error.value)


def test_the_schema_and_the_configuration_know_the_same_words():
    known = json.loads((SPECS / "schema" / "models.schema.json").read_text())["$defs"]["model"]["properties"]
    assert {f.name for f in fields(ModelConfig)} - {"name"} == set(known)
    assert set(known["backend"]["enum"]) == set(BACKENDS) == set(READOUTS)


BASE = ModelConfig(
    "m",
    "openrouter",
    model="a/b",
    base_url="https://x/v1",
    sampling={"temperature": 0},
    options={"provider": "P", "quantization": "bf16"},
)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "a/c"},
        {"base_url": "https://y/v1"},
        {"revision": "r"},
        {"adapter": "l"},
        {"sampling": {"temperature": 1}},
        {"options": {"provider": "Q", "quantization": "bf16"}},
        {"options": {"provider": "P", "quantization": "fp8"}},
        {"backend": "chat"},
    ],
)
def test_what_determines_a_reply_changes_the_identity(change):
    assert replace(BASE, **change).identity_sha256 != BASE.identity_sha256


@pytest.mark.parametrize(
    "change",
    [
        {"name": "n"},
        {"in_flight": 64},
        {"timeout_s": 1.0},
        {"max_tries": 1},
        {"requests_per_minute": 5.0},
        {"key_env": "K"},
        {"price_in": 1.0},
        {"readout": "json_choice"},
        {"permute": "reverse"},
        {"description": "d"},
        {"options": {**BASE.options, "backoff_s": [0, 1]}},
    ],
)
def test_what_does_not_determine_a_reply_leaves_the_identity(change):
    assert replace(BASE, **change).identity_sha256 == BASE.identity_sha256


def test_a_started_server_may_have_another_port_next_time():
    served = ModelConfig("m", "vllm", model="x", base_url="http://127.0.0.1:1/v1")
    assert replace(served, base_url="http://127.0.0.1:2/v1").identity_sha256 == served.identity_sha256
