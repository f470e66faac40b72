"""A storm of every fault, seen by a whole session of 2,016 requests: nothing is lost, and the report is that of calm."""

import json
import urllib.request

import pytest

from harness.tests.dispatch.project import chat_project, served
from harness.tests.plugin.session import session

ITEMS = ("--spec", "metasurface-main", "--limit", "42", "--model", "m", "-n", "0")
N = 2016
DIFFER = {"latency_s", "tries", "notes"}  # what a storm changes


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    with served() as url:
        return session(chat_project(tmp_path_factory.mktemp("calm") / "p", url), *ITEMS)


@pytest.fixture(scope="module")
def storm(tmp_path_factory):
    with served(fault_rate=0.3) as url:
        done = session(chat_project(tmp_path_factory.mktemp("storm") / "p", url), *ITEMS)
        with urllib.request.urlopen(url + "/stats") as reply:
            return done, json.load(reply)


def same(rows):
    return {k: {c: v for c, v in row.items() if c not in DIFFER} for k, row in rows.items()}


def test_every_reply_of_a_storm_is_usable(storm):
    rows = storm[0].rows()
    assert storm[0].status == 0, storm[0].text
    assert (len(rows), {row["status"] for row in rows.values()}) == (N, {"usable"})


def test_a_storm_changes_no_outcome_and_no_table(calm, storm):
    done = storm[0]
    assert same(done.rows()) == same(calm.rows())
    tables = sorted(p.name for p in (calm.run() / "tables").glob("*.csv") if "cost" not in p.name)
    assert tables
    for name in tables:
        assert (done.run() / "tables" / name).read_text() == (calm.run() / "tables" / name).read_text()


def test_no_reply_is_accepted_twice(storm):
    assert set(storm[1]["answered"].values()) == {1}


def test_every_kind_of_fault_came(storm):
    assert len(storm[1]["failed"]) == 14


def test_outcomes_know_their_latency_and_how_often_they_were_sent(storm):
    rows = storm[0].rows().values()
    assert all(row["latency_s"] > 0 for row in rows)
    assert sum(row["tries"] for row in rows) == sum(storm[1]["received"].values())
    assert 1.3 < sum(row["tries"] for row in rows) / N < 1.6
