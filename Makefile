# Every target makes its own virtual environment when it is missing or out of date. Python 3.11+ is all that is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: audit test lint coverage bench clean help

help:
	@echo "make audit      a real report from a real run on embedded data (under ten minutes, set-up included)"
	@echo "make test       the harness's own tests"
	@echo "make lint       ruff, the import layers and mypy (strict)"
	@echo "make coverage   branches that the tests reach, 90 % at least (half an hour)"
	@echo "make bench      speed of the harness, as ratios measured side by side"

# what a run needs
$(VENV)/.run: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "isoprobe needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	@echo "installing isoprobe and what a run needs (a minute or two)"
	@$(BIN)/pip install --quiet --progress-bar off -e '.[local,data]'
	@$(BIN)/isoprobe fetch smollm2
	@touch $@

# what development needs on top
$(VENV)/.dev: $(VENV)/.run pyproject.toml
	@echo "installing what development needs"
	@$(BIN)/pip install --quiet --progress-bar off -e '.[dev]'
	@touch $@

audit: $(VENV)/.run
	$(BIN)/isoprobe audit

test: $(VENV)/.dev
	$(BIN)/pytest harness/tests -n auto -q -m "not vllm and not train and not slow"

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy

# one process after another, as some tests measure time; sessions, workers and commands that the tests start count too
coverage: $(VENV)/.dev
	rm -f .coverage .coverage.*
	$(BIN)/coverage run -m pytest harness/tests -n 0 -q -m "not vllm and not train"
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --skip-covered --sort=miss --fail-under=90

bench: $(VENV)/.dev
	$(BIN)/pytest harness/benchmarks -q -n 0 --benchmark-disable-gc

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache
