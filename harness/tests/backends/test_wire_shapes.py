"""What each backend sends, and what it makes of the reply, on a server that speaks that protocol."""

import json
import math

import pytest

from harness.backends.config import ModelConfig
from harness.probe import Usage
from harness.readouts.permute import read
from harness.tests.asking import AB, BANDS, PNG, ask, request
from harness.tests.fault_server import FaultServer, chosen


def asked(
    backend,
    readout,
    options=AB,
    *,
    server=None,
    image=b"",
    path="/v1",
    prompt=None,
    system="",
    sampling=None,
    **settings,
):
    """(request, response, sent body, path, headers) of one exchange."""
    with server or FaultServer() as running:
        config = ModelConfig(
            "m", backend, model="org/m", base_url=running.url + path, readout=readout, max_tries=2, options=settings
        )
        one = request(readout, options, image=image, system=system, sampling=sampling or {})
        (response,) = ask(config, one)
        where, body = running.bodies[0]
        return one, response, body, where, running.headers[0]


def test_chat_sends_system_then_evidence_before_the_question():
    one, response, body, where, _ = asked("chat", "json_choice", system="Be brief.", sampling={"seed": 7})
    assert where == "/v1/chat/completions"
    assert body["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": one.text}]
    assert (body["model"], body["temperature"], body["seed"]) == ("org/m", 0.0, 7)
    assert read([(one, response)]).choice == chosen(["A", "B"], one.text)


def test_the_strict_schema_demands_a_label_and_all_probabilities():
    _, _, body, _, _ = asked("chat", "json_choice", BANDS)
    schema = body["response_format"]["json_schema"]
    labels = [o.label for o in BANDS]
    assert schema["strict"] is True
    assert schema["schema"]["properties"]["choice"]["enum"] == labels
    assert schema["schema"]["properties"]["probabilities"]["required"] == labels
    assert schema["schema"]["additionalProperties"] is False


def test_images_come_before_the_text():
    _, _, body, _, _ = asked("chat", "json_choice", image=PNG)
    assert [p["type"] for p in body["messages"][0]["content"]] == ["image_url", "text"]
    assert body["messages"][0]["content"][0]["image_url"]["url"].startswith("data:image/png;base64,")


def test_images_stay_in_the_order_of_the_evidence_where_asked():
    _, _, body, _, _ = asked("chat", "json_choice", image=PNG, images="in_order")
    assert [p["type"] for p in body["messages"][0]["content"]] == ["text", "image_url", "text"]


def test_chat_reports_usage_and_who_served_it():
    _, response, _, _, _ = asked("chat", "json_choice")
    assert response.usage == Usage(100, 64, 5, None, None)
    assert (response.served_model, response.generation_id, response.finish_reason) == ("served", "gen-1", "stop")
    assert response.latency_s > 0


def test_letters_ask_for_one_token_and_its_candidates():
    one, response, body, _, _ = asked("chat", "option_letters")
    assert (body["max_tokens"], body["logprobs"], body["top_logprobs"]) == (1, True, 20)
    letter = chosen(["A", "B"], one.text)
    assert read([(one, response)]).choice == letter
    # 'A' at -0.4 and ' A' at -2.0 are two spellings of one letter
    assert response.option_scores[letter] == pytest.approx(math.log(math.exp(-0.4) + math.exp(-2.0)))
    assert response.label_mass == pytest.approx(math.exp(-0.4) + math.exp(-2.0) + math.exp(-2.5))


def letters_server(logprobs):
    return FaultServer(
        reply=lambda path, body: {
            "choices": [{"finish_reason": "length", "message": {"content": "The"}, "logprobs": logprobs}]
        }
    )


@pytest.mark.parametrize("token", ["B", " B", "▁B", "ĠB", "B\n"])
def test_a_letter_has_several_spellings(token):
    entry = {"token": token, "logprob": -0.1}
    _, response, _, _, _ = asked(
        "chat", "option_letters", server=letters_server({"content": [{**entry, "top_logprobs": [entry]}]})
    )
    assert response.option_scores == {"B": pytest.approx(-0.1)}


@pytest.mark.parametrize(
    "logprobs, message",
    [
        (None, "returned no log-probabilities"),
        ({"content": []}, "returned no log-probabilities"),
        (
            {"content": [{"token": "The", "logprob": -0.1, "top_logprobs": [{"token": "The", "logprob": -0.1}]}]},
            "none of the letters A, B is among the 1 candidates",
        ),
    ],
)
def test_too_few_candidates_are_an_honest_error(logprobs, message):
    _, response, _, _, _ = asked("chat", "option_letters", server=letters_server(logprobs))
    assert message in response.error
    assert response.option_scores == {}


def test_thinking_is_switched_off_in_the_chat_template():
    _, _, body, _, _ = asked(
        "chat",
        "json_choice",
        chat_template_kwargs={"enable_thinking": False},
        extra_body={"repetition_detection": {"min_count": 4}},
    )
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert body["repetition_detection"] == {"min_count": 4}


@pytest.mark.parametrize(
    "choice, finish",
    [
        ({"finish_reason": "repetition"}, "repetition"),
        ({"finish_reason": "stop", "stop_reason": "repetition_detected"}, "repetition"),
        ({"finish_reason": "length"}, "length"),
        ({"finish_reason": "content_filter"}, "content_filter"),
    ],
)
def test_the_finish_reason_is_data(choice, finish):
    server = FaultServer(reply=lambda path, body: {"choices": [{**choice, "message": {"content": "and and"}}]})
    assert asked("chat", "labelled_lines", server=server)[1].finish_reason == finish


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_reasoning_in_its_own_field_is_put_back_inline(field):
    server = FaultServer(
        reply=lambda path, body: {
            "choices": [{"finish_reason": "stop", "message": {"content": "ANSWER: A", field: "Let me see."}}]
        }
    )
    assert asked("chat", "labelled_lines", server=server)[1].text == "<think>Let me see.</think>\nANSWER: A"


def test_a_truncation_without_content_is_kept_and_not_asked_again():
    server = FaultServer(
        reply=lambda path, body: {
            "choices": [{"finish_reason": "length", "message": {"content": None, "reasoning": "hm"}}]
        }
    )
    _, response, _, _, _ = asked("chat", "labelled_lines", server=server)
    assert (response.finish_reason, response.tries, response.error) == ("length", 1, "")


def echo(path, body):
    if not path.endswith("/completions") or "prompt" not in body:
        return 404, {}
    text, tokens, at = body["prompt"], [], 0
    while at < len(text):
        tokens.append((text[at : at + 4], at))
        at += 4
    logs = [None] + [-1.0 if "-730" in text[-12:] else -2.0] * (len(tokens) - 1)
    return {
        "model": "served",
        "choices": [
            {
                "text": text,
                "logprobs": {
                    "tokens": [t for t, _ in tokens],
                    "text_offset": [o for _, o in tokens],
                    "token_logprobs": logs,
                },
            }
        ],
        "usage": {"prompt_tokens": len(tokens), "completion_tokens": 1},
    }


def test_option_text_scores_each_option_as_a_continuation():
    one, response, body, where, _ = asked("chat", "option_text", BANDS, server=FaultServer(reply=echo))
    assert where == "/v1/completions"
    assert (body["echo"], body["prompt"]) == (True, f"{one.text} 450-605 nm")
    reading = read([(one, response)])
    assert reading.choice == "605-730"
    assert set(reading.notes) >= {"raw_choice", "per_token_choice", "option_tokens"}


def test_a_server_without_echo_says_so():
    server = FaultServer(reply=lambda path, body: {"choices": [{"text": "x", "logprobs": None}]})
    assert "echoes no log-probabilities" in asked("chat", "option_text", server=server)[1].error


def test_openrouter_pins_provider_and_precision_without_fallbacks():
    _, response, body, _, _ = asked(
        "openrouter",
        "json_choice",
        provider="CoreWeave",
        quantization="bf16",
        reasoning=False,
        server=FaultServer(provider="CoreWeave"),
    )
    assert body["provider"] == {
        "only": ["CoreWeave"],
        "order": ["CoreWeave"],
        "allow_fallbacks": False,
        "quantizations": ["bf16"],
        "require_parameters": True,
    }
    assert (body["reasoning"], body["usage"]) == ({"enabled": False}, {"include": True})
    assert (response.provider, dict(response.extra)) == ("CoreWeave", {})


def test_another_provider_than_the_pinned_one_is_noted():
    _, response, _, _, _ = asked(
        "openrouter", "json_choice", provider="CoreWeave", server=FaultServer(provider="NextBit")
    )
    assert response.extra["notes"] == {"provider_asked": "CoreWeave", "provider_served": "NextBit"}


def test_openrouters_cost_and_reasoning_tokens_are_kept():
    server = FaultServer(
        reply=lambda path, body: {
            "choices": [{"finish_reason": "stop", "message": {"content": "x"}}],
            "usage": {
                "prompt_tokens": 9,
                "completion_tokens": 8,
                "cost": 0.25,
                "completion_tokens_details": {"reasoning_tokens": 7},
            },
        }
    )
    assert asked("openrouter", "labelled_lines", server=server)[1].usage == Usage(9, None, 8, 7, 0.25)


def test_system_one_gets_state_instructions_and_a_map_of_labels():
    one, response, body, where, _ = asked("decisions", "decision", BANDS)
    assert where == "/v1/systemone"
    assert body == {
        "model": "org/m",
        "state": one.evidence_text,
        "questions": {
            "q": {
                "type": "choice",
                "instructions": "Which one?",
                "criteria": {
                    "450-605 nm": None,
                    "605-730 nm": None,
                    "cannot be determined": "The data provided are not enough to answer.",
                },
            }
        },
    }
    label = chosen([o.label for o in BANDS], one.evidence_text)
    assert response.choice == {o.label: o.key for o in BANDS}[label]
    assert response.label_mass == 0.97
    assert sum(read([(one, response)]).probabilities.values()) == pytest.approx(1)


def test_system_one_images_go_where_vllm_takes_them():
    _, _, body, _, _ = asked("decisions", "decision", image=PNG)
    assert body["images"][0].startswith("data:image/png;base64,")
    assert isinstance(body["state"], str)


def test_openrouters_decisions_put_images_into_the_state():
    _, _, body, where, _ = asked("decisions", "decision", image=PNG, path="", shape="openrouter", provider="OpenAI")
    assert where == "/api/alpha/decisions"
    assert [p["type"] for p in body["state"]] == ["text", "image_url"]
    assert "images" not in body
    assert body["provider"]["only"] == ["OpenAI"]


def test_the_path_and_the_place_of_images_are_settings():
    with FaultServer() as server:
        config = ModelConfig(
            "m",
            "decisions",
            model="m",
            base_url=server.url,
            options={"shape": "openrouter", "path": "/other/systemone", "images": "field"},
        )
        ask(config, request("decision", image=PNG))
        ((where, body),) = server.bodies
    assert where == "/other/systemone"
    assert body["images"]


def test_openai_decisions_have_their_own_shape():
    one, response, body, where, _ = asked("decisions", "decision", BANDS, image=PNG, shape="openai", detail="high")
    assert where == "/v1/decisions"
    (message,) = body["input"]
    assert [p["type"] for p in message["content"]] == ["input_image", "input_text"]
    assert message["content"][0]["detail"] == "high"
    assert body["questions"][0]["choices"][2] == {
        "value": "cannot be determined",
        "description": "The data provided are not enough to answer.",
    }
    assert response.usage == Usage(100, 40, 2, 1, None)
    assert read([(one, response)]).probabilities[response.choice] == pytest.approx(0.9)


def test_an_openai_refusal_is_an_answer_without_a_choice():
    server = FaultServer(reply=lambda path, body: {"answers": [{"type": "refusal", "name": "q"}]})
    one, response, _, _, _ = asked("decisions", "decision", shape="openai", server=server)
    assert (response.error, response.tries) == ("", 1)
    assert read([(one, response)]).near_misses == ("refusal",)


@pytest.mark.parametrize("reply", [{}, {"answers": {}}, {"answers": {"q": {"type": "choice"}}}, {"answers": None}])
def test_a_decision_without_an_answer_is_tried_again_and_then_an_error(reply):
    _, response, _, _, _ = asked("decisions", "decision", server=FaultServer(reply=lambda path, body: reply))
    assert response.tries == 2
    assert response.error


def test_a_label_mass_that_cannot_be_is_unavailable():
    reply = {"answers": {"q": {"type": "choice", "choice": "A"}}, "diagnostics": {"q": {"label_mass": float("nan")}}}
    _, response, _, _, _ = asked("decisions", "decision", server=FaultServer(reply=lambda path, body: reply))
    assert (response.choice, response.label_mass) == ("A", None)


def test_vllm_takes_decisions_and_chat_on_one_address():
    assert asked("vllm", "decision")[3] == "/v1/systemone"
    assert asked("vllm", "json_choice")[3] == "/v1/chat/completions"


def test_the_key_goes_out_as_a_bearer_token(monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-123")
    with FaultServer(key="sk-123") as server:
        config = ModelConfig("m", "chat", model="m", base_url=server.url + "/v1", key_env="MY_KEY")
        (response,) = ask(config, request("json_choice"))
        assert json.loads(response.text)["choice"] in "AB"
