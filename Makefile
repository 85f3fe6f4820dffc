# make venv | make demo | make test | make bench: each makes .venv and installs what it needs.
PYTHON ?= python3.11
PYTHON := $(shell command -v $(PYTHON) || command -v python3)
BIN := .venv/bin
export PYTHONDONTWRITEBYTECODE :=
unexport PYTHONDONTWRITEBYTECODE

.PHONY: venv demo test lint types bench clean

venv: .venv/installed-dev

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

.venv/installed-%: .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[$*]"
	touch $@

demo: .venv/installed-train .venv/installed-imagenet
	$(BIN)/tallymark demo --out demo

test: lint types
	$(BIN)/pytest

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/installed-dev
	$(BIN)/mypy

bench: .venv/installed-bench .venv/installed-dev
	$(BIN)/python -m benchmarks.score
	$(BIN)/python -m benchmarks.data
	$(BIN)/python -m benchmarks.train

clean:
	rm -rf .venv demo
