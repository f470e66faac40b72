"""Collection and the cost of an item, each against plain pytest in the same run; ratios are asserted, times are not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ITEMS = 30_000
HALF = 1152
"""Of the items of metasurface-main in four tables."""
PLAIN = """
import pytest

KEYS = [f"gold-main/compare/compare-{{i // 64:03d}}/variant-{{i % 64:02d}}/table_nm/plain/0/coin" for i in range({n})]

@pytest.mark.parametrize("key", KEYS)
def test_plain(key):
    pass
"""
PROBES = """
import pytest

@pytest.mark.probes(suite="invariance")
def test_probe(probe):
    {body}
"""
METER = f"""
import json, time

import pytest

at = []

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    at.append(time.process_time())

@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish():
    at.append(time.process_time())  # before anybody's report
    yield
    assert len(at) == {2 * HALF + 1}, len(at)
    with open("meter.json", "w") as file:
        json.dump((at[-1] - at[{HALF}]) / {HALF}, file)
"""


def project(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "conftest.py").write_text('pytest_plugins = ["harness.plugin"]\n' if "probe" in text else "")
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(text)
    return folder


def pytest_in(folder: Path, *args: str) -> None:
    env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def cpu_seconds(call) -> float:
    """User and system time of the children that ``call`` waits for: less shaken by other work on the machine."""
    before = os.times()
    call()
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def ratio(ours, theirs, rounds: int = 3) -> tuple[float, float, float]:
    """Median over rounds of ours / theirs, measured in turn, and the two medians."""
    pairs = [(cpu_seconds(ours), cpu_seconds(theirs)) for _ in range(rounds)]
    middle = rounds // 2
    ratios, ours_s, theirs_s = (sorted(v) for v in zip(*((a / b, a, b) for a, b in pairs), strict=True))
    return ratios[middle], ours_s[middle], theirs_s[middle]


def repeats(views: str = "all") -> tuple[list[str], int]:
    """Arguments that expand to about ITEMS probes, and how many they are exactly."""
    from harness.build import Asked, Selection, expand
    from harness.spec import load_all

    args = ["--spec", "metasurface-main", "--spec", "gold-main", "--model", "oracle"]
    once = sum(1 for _ in expand(load_all(ROOT, ["metasurface-main", "gold-main"]), [Asked("oracle")], Selection()))
    n = round(ITEMS / once)
    return [*args, "--repeat", str(n)], n * once


def test_collecting_30000_probes_costs_at_most_one_and_a_half_plain_parametrizations(benchmark, tmp_path):
    args, n = repeats()
    probes = project(tmp_path / "probes", PROBES.format(body="pass"))
    plain = project(tmp_path / "plain", PLAIN.format(n=n))
    found, ours, theirs = ratio(lambda: pytest_in(probes, "--collect-only", "-qq", *args),
                                lambda: pytest_in(plain, "--collect-only", "-qq"))
    benchmark.extra_info.update(items=n, ratio=round(found, 2), probes_s=ours, plain_s=theirs)
    print(json.dumps(benchmark.extra_info))
    benchmark.pedantic(lambda: None)
    assert found <= 1.5


def cost_of_an_item(folder: Path, *args: str) -> float:
    """CPU seconds of the session's own process from item HALF to the last one, an item: past imports and draws."""
    (folder / "meter.py").write_text(METER)
    pytest_in(folder, "-p", "meter", *args)
    return json.loads((folder / "meter.json").read_text())


def test_an_item_with_a_cached_answer_costs_at_most_two_empty_tests(benchmark, tmp_path):
    args = ["--spec", "metasurface-main", "--model", "oracle", "--views", "table_nm,table_um,table_sci,table_ev",
            "--no-figures"]
    probes = project(tmp_path / "probes", PROBES.format(body="probe.ask()"))
    plain = project(tmp_path / "plain", PLAIN.format(n=2 * HALF))
    pytest_in(probes, *args, "--run-id", "first")  # fills the store
    pairs = [(cost_of_an_item(probes, *args, "--run-id", f"again{i}"), cost_of_an_item(plain)) for i in range(9)]
    found = sorted(a / b for a, b in pairs)[len(pairs) // 2]
    benchmark.extra_info.update(items=HALF, ratio=round(found, 2),
                                pairs_us=[(round(1e6 * a), round(1e6 * b)) for a, b in pairs])
    print(json.dumps(benchmark.extra_info))
    benchmark.pedantic(lambda: None)
    assert found <= 2.0


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__, "-q", "-s", "-n", "0"]))
