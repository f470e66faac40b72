"""Every failure of a service has one meaning: tried again, this request's error, or the end of the run."""

import logging
import time
import traceback
from email.utils import formatdate

import pytest

from harness.backends.base import create
from harness.backends.config import ModelConfig
from harness.backends.meter import Limits, Meter
from harness.backends.transport import retry_after
from harness.errors import FatalError, StopSending
from harness.probe import Usage
from harness.store import encode
from harness.tests.asking import ask, key, request
from harness.tests.fault_server import FAULTS, FaultServer


def config(server, **more):
    defaults = {
        "model": "m",
        "base_url": server.url + "/v1",
        "readout": "json_choice",
        "max_tries": 8,
        "timeout_s": 5.0,
        "options": {"backoff_s": [0.001, 0.01]},
    }
    return ModelConfig("m", "chat", **{**defaults, **more})


@pytest.mark.parametrize("fault", FAULTS)
def test_a_passing_fault_is_tried_again(fault):
    with FaultServer(fault_rate=0.5, faults=(fault,), seed=1) as server:
        replies = ask(config(server, max_tries=30), *(request("json_choice", at=key(n)) for n in range(10)))
        assert [r.error for r in replies] == [""] * 10
        assert sum(r.tries for r in replies) == 10 + server.failed[fault]
        assert set(server.answered.values()) == {1}


def test_a_storm_of_all_faults_gives_the_replies_of_a_quiet_server():
    asked = [request("json_choice", at=key(n)) for n in range(200)]
    with FaultServer() as quiet:
        undisturbed = [r.text for r in ask(config(quiet), *asked)]
    with FaultServer(fault_rate=0.3) as storm:
        replies = ask(config(storm, max_tries=20), *asked)
        assert [r.text for r in replies] == undisturbed
        assert len(storm.failed) > 10


def test_the_number_of_tries_is_bounded():
    with FaultServer(status=500) as server:
        (reply,) = ask(config(server, max_tries=3), request("json_choice"))
        assert (reply.tries, sum(server.received.values())) == (3, 3)
        assert "gave up after 3 tries" in reply.error


def test_one_try_means_no_retry():
    with FaultServer(status=503) as server:
        (reply,) = ask(config(server, max_tries=1), request("json_choice"))
        assert (reply.tries, sum(server.received.values())) == (1, 1)


@pytest.mark.parametrize(
    "status, advice",
    [(401, "set the environment variable"), (402, "no credit"), (403, "no access"), (404, "check the model id")],
)
def test_what_the_user_must_change_stops_the_run_at_once(status, advice):
    with FaultServer(status=status, message="denied") as server:
        with pytest.raises(FatalError, match=advice) as e:
            ask(config(server), request("json_choice"))
        assert "denied" in str(e.value)
        assert sum(server.received.values()) == 1


@pytest.mark.parametrize("code", [402, "402"])
def test_no_credit_inside_a_200_stops_the_run(code):
    with (
        FaultServer(reply=lambda path, body: {"error": {"code": code, "message": "Insufficient credits"}}) as server,
        pytest.raises(FatalError, match="Insufficient credits"),
    ):
        ask(config(server), request("json_choice"))


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_request_that_cannot_be_served_fails_alone(status):
    with FaultServer(status=status, message="too long") as server:
        (reply,) = ask(config(server), request("json_choice"))
        assert (reply.tries, reply.error) == (1, f"the service answered {status}: too long")


def test_a_slow_reply_is_cut_off_and_tried_again():
    with FaultServer(latency_s=5) as server:
        (reply,) = ask(config(server, timeout_s=0.1, max_tries=2), request("json_choice"))
        assert (reply.tries, "no reply within 0.1 s" in reply.error) == (2, True)


def test_an_address_where_nobody_listens_stops_the_run():
    with FaultServer() as server:
        gone = config(server, max_tries=2)
    with pytest.raises(FatalError, match="nothing answers at"):
        ask(gone, request("json_choice"))


def test_retry_after_in_seconds_is_obeyed():
    with FaultServer(fault_rate=0.5, faults=("429",), retry_after="0.4", seed=2) as server:
        started = time.monotonic()
        (reply,) = ask(config(server), request("json_choice", at=key(1)))
        assert reply.tries == 1 + server.failed["429"]
        assert time.monotonic() - started >= 0.4 * server.failed["429"]


@pytest.mark.parametrize(
    "value, seconds",
    [
        ("3", 3.0),
        (" 2.5 ", 2.5),
        (formatdate(1000, usegmt=True), 10.0),
        (formatdate(900, usegmt=True), 0.0),
        ("soon", None),
        ("", None),
        (None, None),
        ("-3", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(value, seconds):
    assert retry_after(value, now=990.0) == seconds


def test_a_service_that_asks_to_wait_for_hours_stops_the_run():
    with (
        FaultServer(fault_rate=1.0, faults=("429",), retry_after="7200") as server,
        pytest.raises(FatalError, match="asks to wait 7200 s"),
    ):
        ask(config(server), request("json_choice"))


def test_connections_are_kept_and_used_again():
    with FaultServer() as server:
        config_ = config(server)

        async def one_after_the_other():
            backend = create(config_)
            for n in range(20):
                await backend.complete(request("json_choice", at=key(n)))
            await backend.close()

        import asyncio

        asyncio.run(one_after_the_other())
        assert server.connections == 1


def test_the_reply_may_be_no_json_object_at_all():
    with FaultServer(reply=lambda path, body: (200, [1, 2])) as server:
        (reply,) = ask(config(server, max_tries=2), request("json_choice"))
        assert "a JSON list" in reply.error


def test_hostile_output_is_kept_as_it_came():
    said = "\x1b[31m\x00</script>|a|b|\n" + "x" * 1_000_000
    with FaultServer(
        reply=lambda path, body: {"choices": [{"finish_reason": "stop", "message": {"content": said}}]}
    ) as server:
        (reply,) = ask(config(server), request("labelled_lines"))
        assert reply.text == said


def test_invalid_utf8_becomes_replacement_characters():
    body = b'{"choices": [{"finish_reason": "stop", "message": {"content": "\xff\xfeok"}}]}'
    with FaultServer(reply=lambda path, asked: (200, body)) as server:
        (reply,) = ask(config(server), request("labelled_lines"))
        assert reply.text == "\ufffd\ufffdok"


# -- limits ----------------------------------------------------------------------------------------------------------


def test_max_requests_stops_sending():
    with FaultServer() as server:
        meter = Meter(Limits(max_requests=3))
        with pytest.raises(StopSending, match="--max-requests 3 is reached"):
            ask(config(server), *(request("json_choice", at=key(n)) for n in range(10)), meter=meter)
        assert sum(server.received.values()) <= 3


def test_tries_count_as_requests():
    with FaultServer(status=500) as server:
        with pytest.raises(StopSending):
            ask(config(server), request("json_choice"), meter=Meter(Limits(max_requests=4)))
        assert sum(server.received.values()) == 4


@pytest.mark.parametrize("refused", [
    {"choices": []},
    {"choices": [{"finish_reason": "stop", "message": {"content": None}}]},
    {"error": {"code": 502, "message": "upstream"}},
], ids=["no choices", "empty", "error"])
def test_a_reply_that_is_refused_counts_towards_max_cost_as_it_is_paid(refused):
    with FaultServer(reply=lambda path, body: {**refused, "usage": {"prompt_tokens": 9, "cost": 0.5}}) as server:
        with pytest.raises(StopSending, match=r"--max-cost 1 USD is reached after 2 requests and 1\.0000 USD"):
            ask(config(server), request("json_choice"), meter=Meter(Limits(max_cost_usd=1.0)))
        assert sum(server.received.values()) == 2


@pytest.mark.parametrize("cost", ["NaN", "Infinity", "-1", "1e999", "true", '"1"', "null"])
def test_a_cost_that_cannot_be_is_no_cost(cost):
    body = ('{"choices": [{"finish_reason": "stop", "message": {"content": "A"}}], "usage": {"prompt_tokens": 9, '
            f'"completion_tokens": {cost}, "prompt_tokens_details": [], "cost": {cost}}}}}').encode()
    with FaultServer(reply=lambda path, asked: (200, body)) as server:
        (reply,) = ask(config(server), request("labelled_lines"), meter=Meter(Limits(max_cost_usd=1.0)))
        assert (reply.usage, reply.tries) == (Usage(tokens_in=9), 1)


def test_prices_stand_in_for_a_cost_that_is_not_reported():
    with FaultServer() as server:
        meter = Meter(price_in=2.0, price_out=10.0)
        (reply,) = ask(config(server), request("json_choice"), meter=meter)
        assert reply.usage.cost_usd == pytest.approx((100 * 2 + 5 * 10) / 1e6)


# -- secrets ---------------------------------------------------------------------------------------------------------

SECRET = "sk-or-v1-0123456789abcdef"


@pytest.fixture
def secret(monkeypatch):
    monkeypatch.setenv("SECRET_KEY", SECRET)


@pytest.mark.usefixtures("secret")
@pytest.mark.parametrize(
    "server",
    [
        {"key": "another"},
        {"status": 500, "message": f"your key {SECRET} is fine"},
        {"status": 400, "message": f"Bearer {SECRET}"},
        {"reply": lambda path, body: {"choices": [{"finish_reason": "stop", "message": {"content": SECRET}}]}},
        {"reply": lambda path, body: {"error": {"code": 401, "message": SECRET}}},
    ],
)
def test_the_key_shows_nowhere(server, caplog):
    caplog.set_level(logging.DEBUG)
    seen = []
    with FaultServer(**server) as running:
        asked = config(running, key_env="SECRET_KEY", max_tries=2)
        try:
            seen += [encode(r) for r in ask(asked, request("labelled_lines"))]
        except FatalError as e:
            seen.append("".join(traceback.TracebackException.from_exception(e, capture_locals=True).format()))
        backend = create(asked)
        seen += [repr(backend.__dict__), repr(backend.transport.__dict__), repr(asked), caplog.text]
    assert SECRET not in "".join(seen)


def test_a_missing_key_says_which_variable_to_set(monkeypatch):
    monkeypatch.delenv("SECRET_KEY", raising=False)
    with pytest.raises(FatalError, match="set the environment variable SECRET_KEY"):
        create(ModelConfig("m", "chat", key_env="SECRET_KEY"))


@pytest.mark.parametrize("base_url", ["ftp://127.0.0.1/v1", "127.0.0.1:8000/v1", "http:///v1"])
def test_an_address_that_is_none_stops_the_run(base_url):
    with FaultServer() as server, pytest.raises(FatalError, match="check base_url"):
        ask(config(server, base_url=base_url), request("json_choice"))
