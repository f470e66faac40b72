"""These tests ask adapters; without ``--adapter`` there is none to ask."""


def pytest_ignore_collect(collection_path, config):
    return True if collection_path.name.startswith("test_") and not config.getoption("adapter", []) else None
