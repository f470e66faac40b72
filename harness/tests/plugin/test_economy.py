"""What makes items cheap changes nothing about them."""

import gc
import json

import pytest

from harness.tests.plugin.session import project, session

CONFTEST = """
import gc, json, pytest
seen = {"locations": [], "inside": None}

class Watch:
    def pytest_runtest_logreport(self, report):
        if report.when == "call":
            seen["locations"].append(list(report.location))
            seen["inside"] = list(gc.get_threshold())

    @pytest.hookimpl(wrapper=True)
    def pytest_unconfigure(self):
        yield
        seen["after"] = list(gc.get_threshold())
        json.dump(seen, open("seen.json", "w"))

def pytest_configure(config):
    config.pluginmanager.register(Watch())
"""
TESTS = """
import pytest

@pytest.mark.probes(suite="invariance", tasks=["threshold"])
def test_one(probe):
    probe.ask()

class TestMore:
    @pytest.mark.probes(suite="invariance", tasks=["compare"])
    def test_two(self, probe):
        probe.ask()

def test_three():
    pass
"""


def test_every_item_has_its_place_in_the_source_and_the_collector_is_as_before_afterwards(tmp_path):
    folder = project(tmp_path / "p", TESTS, CONFTEST)
    ran = session(folder, "--spec", "gold-main", "--limit", "1", "--views", "table_nm", "--model", "coin", "-n", "0")
    assert ran.status == 0, ran.text
    seen = json.loads((folder / "seen.json").read_text())
    places = [(path, line, domain.split("[")[0]) for path, line, domain in seen["locations"]]
    assert list(dict.fromkeys(places)) == [
        ("test_it.py", 3, "test_one"), ("test_it.py", 8, "TestMore.test_two"), ("test_it.py", 12, "test_three")]
    assert {domain.split("[")[1].rstrip("]") for _, _, domain in seen["locations"] if "[" in domain} == set(ran.rows())
    assert (seen["inside"], seen["after"]) == ([20_000, 20, 20], list(gc.get_threshold()))


KEPT = """
import json, pytest

class Watch:
    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session):
        stats = session.config.pluginmanager.get_plugin("terminalreporter").stats
        reports = [r for some in stats.values() for r in some if hasattr(r, "when")]
        names = lambda things: sorted({name for thing in things for name, _ in thing.user_properties})
        json.dump({"reports": names(reports), "items": names(session.items),
                   "when": sorted({r.when for r in reports if "test_one" in r.nodeid}),
                   "keywords": sorted({k for r in reports for k in r.keywords if "_mark" in k})}, open("kept.json", "w"))

def pytest_configure(config):
    config.pluginmanager.register(Watch())
"""
MARKED = """
import pytest

@pytest.mark.probes(suite="invariance", tasks=["threshold"])
def test_one(probe):
    probe.ask()

@pytest.mark.a_mark
def test_two(record_property):
    record_property("mine", 1)
"""


@pytest.mark.parametrize("more, when", [((), ["call"]), (("--durations=2",), ["call", "setup", "teardown"])], ids=str)
def test_rows_are_let_go_once_every_plugin_has_seen_them_and_other_tests_keep_what_is_theirs(tmp_path, more, when):
    folder = project(tmp_path / "p", MARKED, KEPT)
    ran = session(folder, "--spec", "gold-main", "--limit", "1", "--views", "table_nm", "--model", "coin", "-n", "0",
                  "--junitxml=all.xml", *more)
    assert (0, 2) == (ran.status, len(ran.rows())), ran.text
    kept = json.loads((folder / "kept.json").read_text())
    assert {"reports": ["isoprobe-brief", "mine"], "items": ["mine"], "when": when, "keywords": ["a_mark"]} == kept
    assert 2 == (folder / "all.xml").read_text().count('<property name="isoprobe" ')
    assert bool(more) == ("slowest 2 durations" in ran.text)
