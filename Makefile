# Every target makes its own virtual environment when it is missing or out of date. Python 3.11+ is all that is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: audit test test-slow lint bench clean help

help:
	@echo "make audit   a real report from a real run on embedded data (about ten minutes, set-up included)"
	@echo "make test    the harness's own tests"
	@echo "make lint    ruff and the import layers"
	@echo "make bench   speed of the harness, as ratios measured side by side"

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "isoprobe needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --progress-bar off -e '.[local,data,dev]'
	$(BIN)/isoprobe fetch smollm2
	@touch $@

audit: $(STAMP)
	$(BIN)/isoprobe audit

test: $(STAMP)
	$(BIN)/pytest harness/tests -n auto --dist worksteal -q

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/lint-imports

bench: $(STAMP)
	$(BIN)/pytest harness/benchmarks -q -n 0 --benchmark-disable-gc

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache
