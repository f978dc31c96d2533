# `make demo` and `make test` do everything on a fresh machine; both go through `make setup`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.fenster-ready

.PHONY: setup demo toy quick test test-browser lint docs clean

setup: $(STAMP)

# Rebuilt only if what is to be installed changed, so a second call costs nothing.
$(STAMP): pyproject.toml constraints.txt $(wildcard src/fenster/native/*)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup
	PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/translate_document.sh

toy: setup
	PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/toy.sh

# About two minutes on two cores.
quick: setup
	$(BIN)/python -m pytest -n auto --dist loadgroup -m "not slow and not gpu"

test: setup
	$(BIN)/python -m pytest -n auto --dist loadgroup -m "not browser"

# The page of `fenster serve` in a real Chromium; installs it where that is possible, else the tests are skipped and say so.
test-browser: setup
	@command -v chromium > /dev/null && command -v chromedriver > /dev/null || test "$$(id -u)" != 0 || \
		{ timeout 300 apt-get update -qq && timeout 300 apt-get install -y -qq chromium chromium-driver; } > /dev/null 2>&1 || \
		echo "Chromium could not be installed: apt-get install chromium chromium-driver" >&2
	$(BIN)/python -m pytest tests/browser -m browser

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# What is generated from the code.
docs: setup
	$(BIN)/python -m tools.import_graph --write
	$(BIN)/python -m tools.command_reference
	$(BIN)/python -m tools.results_tables --write

clean:
	rm -rf $(VENV) examples/out .mypy_cache .pytest_cache .ruff_cache
