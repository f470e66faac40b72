from __future__ import annotations

import json
from dataclasses import replace

from harness.probe import Response
from harness.report.evidence import REPLIES, REQUESTS, Keeper, read
from harness.tests.asking import PNG, key, request


def test_what_was_kept_is_read_again(tmp_path):
    asked = request(image=PNG)
    with Keeper(tmp_path) as keeper:
        keeper.keep(asked, [Response(text="A, I think")])
    found = read(tmp_path)
    assert found.requests[asked.sha256]["question"] == "Which one?"
    assert found.evidence_text(asked.sha256) == asked.evidence_text
    assert [p.read_bytes() for p in found.images.values()] == [PNG]
    assert found.replies == {str(asked.key): ["A, I think"]}


def test_requests_that_share_evidence_keep_it_once(tmp_path):
    with Keeper(tmp_path) as keeper:
        for question in ("One?", "Two?"):
            keeper.keep(replace(request(image=PNG), question=question))
    lines = [json.loads(line) for line in (tmp_path / REQUESTS).read_text().splitlines() if line]
    assert [next(iter(line)) for line in lines] == ["text", "request", "request"]


def test_two_processes_may_keep_the_same_request(tmp_path):
    for _ in range(2):
        with Keeper(tmp_path) as keeper:
            keeper.keep(request(image=PNG))
    assert len(read(tmp_path).requests) == 1


def test_a_line_that_a_killed_process_left_half_written_costs_that_line_only(tmp_path):
    with Keeper(tmp_path) as keeper:
        keeper.keep(request(at=key(1)))
    with (tmp_path / REQUESTS).open("ab") as file:
        file.write(b'{"request": "abc", "question": "half')
    with Keeper(tmp_path) as keeper:
        keeper.keep(request(at=key(2)))
    assert len(read(tmp_path).requests) == 2


def test_replies_without_words_are_not_kept(tmp_path):
    with Keeper(tmp_path) as keeper:
        keeper.keep(request(), [Response(choice="A")])
    assert not (tmp_path / REPLIES).exists()


def test_what_was_kept_is_in_the_file_after_a_second_though_nobody_closed_it(tmp_path, monkeypatch):
    keeper = Keeper(tmp_path)
    keeper.keep(request(at=key(1)))
    monkeypatch.setattr("harness.report.evidence.FLUSH_S", 0.0)
    keeper.keep(request(at=key(2)))
    assert len(read(tmp_path).requests) == 2


def test_a_folder_without_evidence_holds_none(tmp_path):
    assert dict(read(tmp_path).requests) == {}
