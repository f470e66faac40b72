"""What stops a session, what it says, and what it never says: errors of the account, limits of the user, the key."""

import re

import pytest

from harness.tests.dispatch.project import chat_project
from harness.tests.fault_server import FaultServer
from harness.tests.plugin.session import session

GOLD = ("--spec", "gold-main", "--limit", "1", "--views", "table_nm,table_ev", "--model", "m", "-n", "0")
N = 22
SECRET = "sk-or-v1-0123456789abcdefSECRET"


def keyed(path, url, **more):
    return chat_project(path, url, key_env="MY_KEY", in_flight=2, **more)


def everything_written(path):
    """Every file below the project, the store's journal too."""
    return b"\n".join(p.read_bytes() for p in path.rglob("*") if p.is_file())


@pytest.mark.parametrize("status, advice", [
    (401, "the key is missing or wrong: set the environment variable MY_KEY"),
    (402, "the account has no credit left: top it up"),
    (403, "the key has no access to this model"),
    (404, "there is no such model or address"),
])
def test_what_only_the_user_can_mend_stops_the_session_at_once_and_never_shows_the_key(tmp_path, status, advice):
    with FaultServer(status=status, message=f"invalid key {SECRET}") as server:
        done = session(keyed(tmp_path / "p", server.url), *GOLD, "--debug=debug.log", "-vv", "--tb=long", "--showlocals",
                       "-o", "log_cli=true", "-o", "log_cli_level=DEBUG", MY_KEY=SECRET)
    assert (done.status != 0, advice in done.text) == (True, True), done.text
    assert sum(server.received.values()) <= 4
    assert f"Bearer {SECRET}" in server.headers[0]["authorization"]
    assert SECRET not in done.text
    assert SECRET.encode() not in everything_written(done.folder)


def test_replies_before_a_stop_are_outcomes_of_the_run(tmp_path):
    def broke_after_ten(path, body):
        return (402, {"error": {"code": 402, "message": "no credit"}}) if sum(server.received.values()) > 10 else (
            server.decide(path, body))

    with FaultServer(reply=broke_after_ten) as server:
        folder = keyed(tmp_path / "p", server.url)
        first = session(folder, *GOLD, MY_KEY=SECRET)
        kept = sum(server.received.values())
    assert first.status != 0
    assert "top it up" in first.text
    assert 10 <= kept <= 13
    assert len(first.rows()) >= 8


@pytest.mark.parametrize("args, price", [(("--max-requests", "7"), 0.0), (("--max-cost", "0.00071"), 1.0)], ids=str)
def test_a_limit_stops_sending_and_keeps_what_was_under_way(tmp_path, args, price):
    with FaultServer(latency_s=0.02) as server:  # 100 tokens in: 0.0001 dollars a request at a dollar per million
        folder = keyed(tmp_path / "p", server.url, price_in=price)
        done = session(folder, *GOLD, *args, MY_KEY=SECRET)
        sent = sum(server.received.values())
        again = session(folder, *GOLD, MY_KEY=SECRET)
        assert sum(server.received.values()) == N
    assert 7 <= sent <= 10, done.text
    assert args[0] in done.text or "limit" in done.text
    assert (again.status, len(again.rows())) == (0, N), again.text


def test_a_replay_needs_neither_the_key_nor_the_declaration_of_the_model(tmp_path):
    with FaultServer() as server:
        folder = keyed(tmp_path / "p", server.url)
        asked = session(folder, *GOLD, MY_KEY=SECRET)
    (folder / "specs" / "models.yaml").write_text("models: {other: {backend: oracle}}", "utf-8")
    again = session(folder, "--replay", "r", "--run-id", "again", "-n", "0", MY_KEY=None)
    assert (again.status, again.results("again")) == (0, asked.results()), again.text


HOSTILE = ("\x1b[2J\x1b]0;owned\x07", "a\x00b", "x" * 1_000_000, "</script><script>alert(1)</script>",
           "| a | b |\n|---|---|\n|1|2|",
           "\ud800\udfff", "::error::gone", "![x](http://evil.invalid/x.png)")


def test_hostile_replies_harm_neither_terminal_nor_report(tmp_path):
    def hostile(path, body):
        text = HOSTILE[sum(server.received.values()) % len(HOSTILE)]
        return {"model": text[:50], "choices": [{"finish_reason": "stop", "message": {"content": text}}]}

    with FaultServer(reply=hostile) as server:
        done = session(keyed(tmp_path / "p", server.url), *GOLD, "-v", MY_KEY=SECRET)
    assert (done.status, len(done.rows())) == (0, N), done.text[-3000:]
    assert not set("\x1b\x00\x07") & set(done.text)
    assert "\n::error" not in done.text
    written = {p.name: p.read_text("utf-8") for p in done.run().rglob("*") if p.suffix in (".md", ".html", ".csv")}
    assert {"report.md", "report.html"} <= set(written)
    for name, text in written.items():
        assert not set("\x1b\x00") & set(text), name
        assert name.endswith(".csv") or "<script>alert(1)" not in text, name
        assert not name.endswith(".md") or not re.search(r"(?<!\\)\]\(http://evil", text), name
