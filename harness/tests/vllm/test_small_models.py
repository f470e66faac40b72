"""Sessions as a user runs them, on servers that the plugin starts: a small language model, and a decision model."""

import json
import subprocess

import pytest

from harness.build import Asked, Selection, expand, family
from harness.spec import load_all
from harness.tests.plugin.session import ROOT, environment, session
from harness.tests.vllm.served import PICO, PYTHON, SMOLLM2, entry, folder

GOLD = ("--spec", "gold-main", "--views", "table_nm,table_ev")
SAMPLE = 8  # 135 M parameters in float32 take their time; the small decision model below is compared on all of its requests
LETTERS_IN_PROCESS = """
import json, sys
from harness.backends.config import ModelConfig
from harness.backends.hf import Transformers
from harness.probe import Option, Part, Request, RequestKey
model = Transformers(ModelConfig("m", "hf", model=sys.argv[1], options={"dtype": "float32"}))
for line in sys.stdin:
    row = json.loads(line)
    request = Request(RequestKey.parse(row["key"]), (Part(text=row["text"]),), "", tuple(Option(*o) for o in row["options"]),
                      "option_letters", "", row["system"])
    print(json.dumps([row["key"], dict(model.answer(request).option_scores)]), flush=True)
"""


@pytest.fixture(scope="module")
def language(tmp_path_factory):
    """The small language model by both readouts, from one server: 2 x 22 requests on a balanced subset."""
    args = ("--max-model-len", "8192")
    path = folder(tmp_path_factory.mktemp("language") / "p", {
        "letters": entry(SMOLLM2, "option_letters", *args, dtype="float32"),
        "json": entry(SMOLLM2, "json_choice", *args, dtype="float32", sampling={"max_tokens": 120})})
    return session(path, *GOLD, "--limit", "1", "--model", "letters", "--model", "json", timeout=900)


def of(rows, model):
    return [row for row in rows.values() if row["model"] == model]


def test_two_readouts_of_the_same_weights_share_one_server(language):
    assert language.status == 0, language.text
    assert language.text.count("vLLM serves") == 1
    assert [p.name for p in language.run().glob("vllm-*.log")] == ["vllm-letters.log"]


def test_every_reply_by_letters_is_usable(language):
    rows = of(language.rows(), "letters")
    assert (len(rows), {row["status"] for row in rows}) == (22, {"usable"})


def test_json_under_the_schema_is_usable_unless_the_model_goes_on_to_its_limit(language):
    rows = of(language.rows(), "json")
    assert {row["status"] for row in rows} <= {"usable", "truncated"}
    assert sum(row["status"] == "usable" for row in rows) > 22 / 2


def test_the_subset_is_balanced_over_its_answers(language):
    answers = [row["expected"] for row in of(language.rows(), "letters") if row["task"] == "compare"]
    assert answers.count("A") == answers.count("B")


def test_every_outcome_says_who_served_it_how_long_and_at_what_cost_in_tokens(language):
    for row in language.rows().values():
        assert row["latency_s"] > 0
        assert row["tokens_in"] > 100
        assert row["served_model"] == str(SMOLLM2)
        assert row["finish_reason"] in ("stop", "length")


def asked(rows, name, spec_name="gold-main"):
    """The requests behind outcome rows, as the session built them."""
    spec, = load_all(ROOT, [spec_name])
    keys = [k for k in expand([spec], [Asked(name, False)], Selection(limit=1)) if str(k) in rows]
    return [family(spec).build(k, Asked(name, False, "option_letters")) for k in keys]


def test_letters_through_the_server_are_those_of_the_same_weights_in_process(language):
    rows = language.rows()
    lines = [json.dumps({"key": str(r.key), "text": r.text, "system": r.system,
                         "options": [[o.key, o.label, o.description] for o in r.options]})
             for r in asked(rows, "letters")[:SAMPLE]]
    done = subprocess.run([PYTHON, "-c", LETTERS_IN_PROCESS, SMOLLM2], input="\n".join(lines), text=True,
                          capture_output=True, timeout=600, env=environment(HF_HUB_OFFLINE="1", OMP_NUM_THREADS="1"))
    scores = dict(map(json.loads, done.stdout.splitlines()))
    assert len(scores) == SAMPLE, done.stderr[-2000:]
    same = sum(max(scores[k], key=scores[k].get) == rows[k]["choice"] for k in scores)
    assert same / len(scores) >= 0.99


@pytest.fixture(scope="module")
def decisions(tmp_path_factory):
    """The decision model in process and through a server, by letters; the server names its whole vocabulary."""
    vocabulary = json.loads((PICO / "config.json").read_text())["vocab_size"]
    path = folder(tmp_path_factory.mktemp("decisions") / "p", {"served": entry(
        PICO, "option_letters", "--max-logprobs", str(vocabulary), dtype="float32", options={"top_logprobs": vocabulary})})
    return session(path, *GOLD, "--limit", "6", "--model", "pico", "--model", "served", "-n", "2", timeout=900)


def test_workers_ask_the_one_server_that_their_controller_started(decisions):
    assert decisions.status == 0, decisions.text
    assert decisions.text.count("vLLM serves") == 1


def test_letters_through_the_server_are_those_of_the_numpy_runtime(decisions):
    rows = decisions.rows()
    here, there = ({r["key"].rpartition("/")[0]: r for r in of(rows, name)} for name in ("pico", "served"))
    both = [k for k in here if here[k]["status"] == there[k]["status"] == "usable"]
    assert len(both) >= 100
    assert sum(here[k]["choice"] == there[k]["choice"] for k in both) / len(both) >= 0.99


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    """The decision model by vLLM's System One route; forward and reversed options."""
    path = folder(tmp_path_factory.mktemp("typed") / "p", {"typed": entry(PICO, "decision", permute="reverse")})
    return session(path, *GOLD, "--limit", "1", "--model", "typed", timeout=600)


def test_typed_decisions_come_back_with_probabilities_and_the_mass_of_their_labels(typed):
    rows = list(typed.rows().values())
    assert typed.status == 0, typed.text
    assert {row["status"] for row in rows} == {"usable"}
    assert all(sum(row["probabilities"].values()) == pytest.approx(1.0, abs=0.01) for row in rows)
    assert all(0.0 <= row["label_mass"] <= 1.0 for row in rows)


def test_both_orders_of_a_typed_decision_are_asked(typed):
    assert all(len(row["notes"]["order_choices"]) == 2 for row in typed.rows().values())
