"""Each item gets its own reply, and the next ones are under way already."""

import threading
import time
from dataclasses import replace

import pytest

from harness.backends.config import ModelConfig
from harness.backends.meter import Limits
from harness.classify import reply_status
from harness.dispatch import Asker
from harness.errors import BackendError, DataError, FatalError, StopSending, StoreError
from harness.lane import key_in_store
from harness.probe import Response
from harness.readouts.permute import read
from harness.store import Store
from harness.tests.asking import BANDS, PNG, compose, key, request
from harness.tests.fault_server import FaultServer
from harness.tests.stored import counts, images


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "replies.sqlite") as opened:
        yield opened


class Session:
    """What the plugin does: asks keys in order and knows which come next."""

    def __init__(self, config, store, n=20, build=None, events=None, **more):
        configs = config if isinstance(config, list) else [config]
        self.keys = [key(i, c.name) for c in configs for i in range(n)]
        self.at = 0
        self.built = []
        self.asker = Asker(
            {c.name: c for c in configs},
            store,
            build or self.build,
            compose,
            lambda: map(self.keys.__getitem__, range(self.at, len(self.keys))),
            on_event=(events.append if events is not None else None),
            **more,
        )

    def build(self, k):
        self.built.append(k)
        return request("json_choice", at=k)

    def run(self):
        asked = []
        try:
            for n, k in enumerate(self.keys):
                self.at = n
                asked.append(self.asker.ask(k))
        finally:
            self.asker.close()
        return asked


def http(server, **more):
    defaults = {
        "model": "m",
        "base_url": server.url + "/v1",
        "in_flight": 8,
        "max_tries": 20,
        "options": {"backoff_s": [0.001, 0.01]},
    }
    return ModelConfig("m", "chat", **{**defaults, **more})


SCRIPTED = ModelConfig("m", "scripted", options={"behaviour": "coin"})


def test_a_local_model_answers_in_the_calling_thread(store):
    before = threading.active_count()
    asked = Session(SCRIPTED, store).run()
    assert threading.active_count() == before
    assert [str(a.request.key) for a in asked] == [str(key(i)) for i in range(20)]


def test_every_item_gets_its_own_reply(store):
    with FaultServer(latency_s=0.01) as server:
        asked = Session(http(server), store, 50).run()
        again = [
            Asker({"m": http(server)}, None, lambda k: request("json_choice", at=k), compose).ask(a.request.key)
            for a in asked[:3]
        ]
    assert [a.request.key for a in asked] == [key(i) for i in range(50)]
    assert [a.responses[0].text for a in asked[:3]] == [a.responses[0].text for a in again]


def test_upcoming_items_are_sent_ahead_as_many_as_allowed(store):
    with FaultServer(latency_s=0.05) as server:
        started = time.monotonic()
        Session(http(server), store, 80).run()
        assert server.most_in_flight == 8
        assert time.monotonic() - started < 80 * 0.05 / 2


def test_look_ahead_is_bounded(store):
    with FaultServer() as server:
        session = Session(http(server, in_flight=2), store, 500)
        session.asker.ask(session.keys[0])
        time.sleep(0.5)
        session.asker.close()
        assert len(session.built) < 150


def test_without_upcoming_items_it_asks_one_by_one(store):
    with FaultServer() as server:
        asker = Asker({"m": http(server)}, store, lambda k: request("json_choice", at=k), compose)
        assert asker.ask(key(1)).responses[0].text
        asker.close()


def test_a_share_of_in_flight_is_at_least_one(store):
    with FaultServer(latency_s=0.02) as server:
        Session(http(server, in_flight=4), store, 12, limits=Limits(share=0.25)).run()
        assert server.most_in_flight == 1


def test_a_second_run_sends_nothing(store):
    with FaultServer() as server:
        first = Session(http(server), store).run()
        second = Session(http(server, in_flight=2, timeout_s=9.0), store).run()
        assert sum(server.received.values()) == 20
    assert [a.from_store for a in first + second] == [False] * 20 + [True] * 20
    assert [a.responses for a in first] == [a.responses for a in second]


def test_two_items_that_ask_the_same_are_sent_once(store):
    with FaultServer(latency_s=0.05) as server:
        session = Session(http(server), store, 10, build=lambda k: replace(request("json_choice", at=key(1)), key=k))
        asked = session.run()
        assert sum(server.received.values()) == 1
    assert len({a.responses[0].text for a in asked}) == 1


def test_repeats_are_asked_each(store):
    with FaultServer() as server:
        asker = Asker({"m": http(server)}, store, lambda k: request("json_choice", at=k), compose)
        for repeat in range(3):
            asker.ask(key(1, repeat=repeat))
        asker.close()
        assert sum(server.received.values()) == 3


def test_a_failed_reply_is_an_outcome_now_and_asked_again_next_time(store):
    with FaultServer(status=500) as broken:
        asked = Session(http(broken, max_tries=2), store, 5).run()
        assert all("gave up" in a.responses[0].error for a in asked)
        config = http(broken)
    with FaultServer() as server:
        again = Session(replace(config, base_url=server.url + "/v1"), store, 5).run()
    assert [a.responses[0].error for a in again] == [""] * 5


@pytest.mark.parametrize("choice", [
    {"finish_reason": "stop", "message": {"content": None, "reasoning": "I think"}},
    {"finish_reason": "content_filter", "message": {"content": "half an ans"}},
    {"finish_reason": "content_filter", "message": {"content": "\n  "}},
], ids=["nothing after reasoning", "filtered", "blank"])
def test_a_reply_that_holds_no_answer_is_an_error_of_the_provider_and_asked_again_next_time(store, choice):
    with FaultServer(reply=lambda path, body: {"choices": [choice]}) as server:
        (asked,) = Session(http(server), store, 1).run()
        assert (reply_status(asked.responses[0]), sum(server.received.values())) == ("provider_error", 1)
        server.reply = None
        (again,) = Session(http(server), store, 1).run()
        assert (reply_status(again.responses[0]), sum(server.received.values())) == ("usable", 2)


def test_a_storm_of_faults_gives_the_same_replies_and_accepts_none_twice(tmp_path):
    with FaultServer() as quiet, Store(tmp_path / "a") as one:
        undisturbed = [a.responses[0].text for a in Session(http(quiet, in_flight=32), one, 300).run()]
    with FaultServer(fault_rate=0.3) as storm, Store(tmp_path / "b") as other:
        asked = Session(http(storm, in_flight=32), other, 300).run()
        assert [a.responses[0].text for a in asked] == undisturbed
        assert counts(other) == {"answered": 300, "replies": 300, "failed": 0, "claims": 0}
        assert set(storm.answered.values()) == {1}
        assert sum(a.responses[0].tries for a in asked) == sum(storm.received.values())


def test_reversed_options_are_a_second_request_of_the_same_item(store):
    config = ModelConfig("m", "scripted", permute="reverse", options={"behaviour": "last_position", "confidence": 0.6})
    asker = Asker({"m": config}, store, lambda k: request("decision", BANDS, at=k), compose)
    asked = asker.ask(key())
    assert [[o.key for o in r.options] for r, _ in asked.replies] == [
        ["450-605", "605-730", "undetermined"],
        ["undetermined", "605-730", "450-605"],
    ]
    assert read(asked.replies).notes["order_choices"] == ["undetermined", "450-605"]
    asker.close()


def test_the_wrong_key_stops_every_item_of_the_model_and_sends_no_more(store):
    with FaultServer(status=401, latency_s=0.01) as server:
        session = Session(http(server, in_flight=2), store, 50)
        for k in session.keys[:3]:
            with pytest.raises(FatalError, match="401"):
                session.asker.ask(k)
        sent = sum(server.received.values())
        session.asker.close()
        assert sent <= 4
        assert counts(store)["claims"] == 0


def test_a_limit_keeps_what_is_there_and_stops_the_rest(store):
    with FaultServer() as server:
        Session(http(server), store, 5).run()
        session = Session(http(server), store, 20, limits=Limits(max_requests=3), run="r")
        got, stopped = 0, 0
        for n, k in enumerate(session.keys):
            session.at = n
            try:
                session.asker.ask(k)
                got += 1
            except StopSending:
                stopped += 1
        session.asker.close()
        assert (got, stopped) == (8, 12)
        assert sum(server.received.values()) == 8


def test_a_request_that_cannot_be_built_fails_alone(store):
    def build(k):
        if k == key(3):
            raise DataError("row 3 is broken")
        return request("json_choice", at=k)

    with FaultServer() as server:
        session = Session(http(server), store, 6, build=build)
        results = []
        for n, k in enumerate(session.keys):
            session.at = n
            try:
                results.append(bool(session.asker.ask(k)))
            except DataError as e:
                results.append(str(e))
        session.asker.close()
    assert results == [True, True, True, "row 3 is broken", True, True]


def test_look_ahead_that_fails_does_no_harm(store):
    def upcoming():
        raise RuntimeError("no queue")

    events = []
    with FaultServer() as server:
        asker = Asker(
            {"m": http(server)},
            store,
            lambda k: request("json_choice", at=k),
            compose,
            upcoming,
            on_event=events.append,
        )
        assert asker.ask(key()).responses[0].text
        asker.close()
    assert events[0].kind == "trouble"


def test_closing_keeps_what_is_under_way(store):
    with FaultServer(latency_s=0.3) as server:
        session = Session(http(server), store, 20)
        session.asker.ask(session.keys[0])
        time.sleep(0.1)
        session.asker.close(drain_s=5)
        assert counts(store)["answered"] == sum(server.received.values())
        assert counts(store)["claims"] == 0


def test_closing_without_patience_gives_up_what_is_under_way(store):
    with FaultServer(latency_s=0.0) as server:
        session = Session(http(server), store, 20)
        session.asker.ask(session.keys[0])
        server.latency_s = 30
        started = time.monotonic()
        session.asker.close(drain_s=0)
        assert time.monotonic() - started < 5
        assert counts(store)["claims"] == 0


def test_closing_ends_the_wait_for_an_item_that_is_being_built(store):
    building, may_end, said = threading.Event(), threading.Event(), []

    def build(k):
        building.set()
        may_end.wait(30)
        return request("json_choice", at=k)

    def wait_for_it():
        try:
            session.asker.ask(session.keys[0])
        except BackendError as e:
            said.append(str(e))

    with FaultServer() as server:
        session = Session(http(server), store, 3, build=build)
        item = threading.Thread(target=wait_for_it, daemon=True)
        item.start()
        assert building.wait(10)
        session.asker.close(drain_s=0)
        item.join(5)
        may_end.set()
    assert said == [f"{key(0)}: the run was stopped before its reply came"]


def test_asking_after_closing_says_so(store):
    with FaultServer() as server:
        session = Session(http(server), store, 3)
        session.asker.ask(session.keys[0])
        session.asker.close()
        with pytest.raises(BackendError, match="stopped"):
            session.asker.ask(session.keys[2])


def test_a_provider_that_changes_in_mid_run_is_told_once(store):
    events = []
    with FaultServer(provider="P") as server:
        session = Session(http(server, in_flight=1), store, 6, events=events)
        session.keys, rest = session.keys[:2], session.keys[2:]
        for k in session.keys:
            session.asker.ask(k)
        server.provider = "Q"
        for k in rest:
            session.asker.ask(k)
        session.asker.close()
    assert [(e.kind, e.text) for e in events] == [("changed", "served by Q / served, before by P / served")]


def test_a_replay_reads_the_store_and_never_sends(store):
    with FaultServer() as server:
        first = Session(http(server), store, 4).run()
        sent = sum(server.received.values())
        replayed = Session(http(server), store, 4, offline=True).run()
        assert sum(server.received.values()) == sent
    assert [a.responses for a in replayed] == [a.responses for a in first]


def test_a_replay_with_another_readout_reads_the_same_replies(store):
    with FaultServer() as server:
        first = Session(http(server), store, 2).run()
        other = Session(http(server), store, 2, build=lambda k: request("option_letters", at=k), offline=True).run()
    assert [a.responses for a in other] == [a.responses for a in first]
    assert other[0].request.readout == "option_letters"


def test_a_replay_gives_a_failed_reply_as_it_was(store):
    with FaultServer(status=500, message="broken") as server:
        (first,) = Session(http(server, max_tries=1), store, 1).run()
        (replayed,) = Session(http(server, max_tries=1), store, 1, offline=True).run()
    assert replayed.responses == first.responses


@pytest.mark.parametrize("config", [
    ModelConfig("m", "hf", model="a/checkpoint-that-is-nowhere", revision="abc"),
    ModelConfig("m", "pico", options={"folder": "/nowhere"}),
    ModelConfig("m", "smollm2", options={"weights": "/nowhere.gguf"}),
    ModelConfig("m", "openrouter", model="vendor/model", key_env="A_KEY_THAT_IS_NOT_SET"),
], ids=lambda c: c.backend)
def test_a_replay_needs_neither_weights_nor_packages_nor_a_key(store, config):
    asked, reply = request("option_letters", at=key()), Response(text="A")
    store.put_many([(key_in_store(config, asked), str(key()), reply)], [asked])
    (replayed,) = Session(config, store, 1, build=lambda k: asked, offline=True).run()
    assert replayed.responses == (reply,)


def test_a_replay_of_what_was_never_asked_says_so(store):
    with pytest.raises(StoreError, match="ask the model again"):
        Session(SCRIPTED, store, 1, offline=True).run()


def test_a_long_wait_for_a_reply_that_another_process_asks_for_is_told_once(store):
    events = []
    with FaultServer() as server, Store(store.path) as other:
        session = Session(http(server), store, 1, events=events)
        (name,) = [key_in_store(http(server), r) for r in session.asker.requests(session.keys[0])]
        other.claim_many([name])
        threading.Timer(3.5, lambda: other.release([name])).start()
        session.run()
    assert [(e.kind, e.text) for e in events] == [("waiting", f"another process asks for {key(0)}")]


def test_a_model_that_is_not_of_this_run_is_named(store):
    with pytest.raises(BackendError, match="not one of this run's"):
        Session(SCRIPTED, store).asker.ask(key(0, "other"))


def test_the_models_sampling_goes_before_the_suites(store):
    with FaultServer() as server:
        Session(http(server, sampling={"temperature": 0.7}), store, 1).run()
        assert server.bodies[0][1]["temperature"] == 0.7


def test_images_go_into_the_store_by_hash(store):
    with FaultServer() as server:
        session = Session(http(server), store, 3, build=lambda k: request("json_choice", at=k, image=PNG))
        asked = session.run()
    assert images(store) == {asked[0].request.images[0].sha256: PNG}
