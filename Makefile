# `make demo` and `make test` do everything on a fresh machine; both go through `make setup`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.fenster-ready

.PHONY: setup demo toy test lint clean

setup: $(STAMP)

# Rebuilt only when what is to be installed changed, so a second call costs nothing.
$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup
	PATH="$(CURDIR)/$(BIN):$$PATH" sh demo/run.sh

toy: setup
	PATH="$(CURDIR)/$(BIN):$$PATH" sh demo/toy.sh

test: setup
	$(BIN)/python -m pytest

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) demo/out .mypy_cache .pytest_cache .ruff_cache
