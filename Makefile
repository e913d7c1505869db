# Everything runs in .venv, which `setup` makes; after that no target installs anything again unless pyproject.toml
# or constraints.txt has changed. Another interpreter: make setup PYTHON=python3.12

PYTHON ?= python3
SEED ?= 0
BIN := .venv/bin
READY := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help setup train test test-slow lint format bench gpu-check clean

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## Make .venv with the exact versions of constraints.txt and compile the rules once

$(READY): pyproject.toml constraints.txt setup.py
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e ".[dev]"
	$(BIN)/rotlab warm
	@touch $@

train: setup ## Train the paper's Transformer on additions to perfect accuracy, in minutes (SEED=0)
	$(BIN)/python train.py experiment=quickstart seed=$(SEED)

test: lint ## Lint, check types and run the tests, as CI does
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile

test-slow: setup ## Run the long checks that `test` leaves out
	$(BIN)/python -m pytest -m slow -n auto --maxprocesses 4

lint: setup ## Check style, format and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: setup ## Rewrite the sources in the project's format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: setup ## Measure how fast data, evaluation and training are, in about ten minutes
	$(BIN)/rotlab bench data
	$(BIN)/rotlab bench evaluation
	$(BIN)/rotlab bench training

gpu-check: setup ## Measure what a GPU does best, in minutes; nothing without one
	$(BIN)/rotlab bench gpu

clean: ## Remove build leftovers and caches; runs and .venv stay
	rm -rf build dist src/*.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
