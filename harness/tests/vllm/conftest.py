"""Every test here needs the environment that ``scripts/vllm_cpu.py`` makes; they share its cores, so run them with -n 0."""

import pytest

from harness.tests.vllm.served import missing


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = missing()
    for item in items:
        if item.path.parent.name == "vllm":
            item.add_marker("vllm")
            if reason:
                item.add_marker(pytest.mark.skip(reason=reason))
