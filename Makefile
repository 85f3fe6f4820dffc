# Every target creates .venv and installs what it needs. `make help` lists them.
PYTHON ?= python3.11
PYTHON := $(shell command -v $(PYTHON) || command -v python3)
BIN := .venv/bin
FONTS := /usr/share/fonts/truetype/dejavu
export PYTHONDONTWRITEBYTECODE :=
unexport PYTHONDONTWRITEBYTECODE

# One worker per core and one thread per worker: several OpenMP threads wait for each other on a busy machine.
# Tests are given out one by one, the slowest first, so that all workers end together.
PYTEST := $(BIN)/pytest -n auto --maxprocesses 8 --dist load --maxschedchunk 1
COVERAGE := --cov=tallymark --cov-report=term:skip-covered --cov-fail-under=96

.PHONY: help venv browser demo test test-slow test-ray fuzz tests coverage lint types bench clean

help:
	@echo "make venv       create .venv with everything that development needs"
	@echo "make browser    install Debian's chromium and a font for the tests of pages, where that is possible"
	@echo "make demo       train and score tiny models of all challenges on synthetic data, in demo/"
	@echo "make test       lint, types, and the tests that are not marked slow"
	@echo "make test-slow  the other tests: the demo's trainings, the documentation, the wheel; CI runs them too"
	@echo "make test-ray   the tests of the Ray engine, which is installed for them (80 MB); CI runs them too"
	@echo "make fuzz       damaged files of all kinds for MINUTES=10, with the figures of what was found"
	@echo "make coverage   the tests that are not slow, with coverage; fails below the floor (CI runs it too)"
	@echo "make lint       ruff check and ruff format --check"
	@echo "make types      mypy"
	@echo "make bench      speed of scoring, reading and training, beside other libraries"
	@echo "make clean      delete .venv and demo/"

venv: .venv/installed-dev

.venv/bin/python:
	$(PYTHON) -m venv .venv

# Modules are compiled when they are first imported: of the packages' thousands, few are.
.venv/installed-%: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e ".[$*]"
	touch $@

# Pages are tested in a real browser, and figures need a font. Without them, those tests are skipped and say so.
browser:
	@{ command -v chromium || command -v chromium-browser; } >/dev/null && [ -n "$$(ls $(FONTS) 2>/dev/null)" ] || { \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	  { apt-get install -y -q --no-install-recommends chromium fonts-dejavu-core || \
	    { apt-get update -q && apt-get install -y -q --no-install-recommends chromium fonts-dejavu-core; }; } \
	  >/dev/null 2>&1; } || \
	echo "chromium or a font is not installed and cannot be: the tests of pages in a browser are skipped"

demo: .venv/installed-train,imagenet
	$(BIN)/tallymark demo --out demo

# Side by side: the type checker uses one core only.
test: .venv/installed-dev
	@$(MAKE) --no-print-directory --jobs 3 lint types tests

tests: .venv/installed-dev browser
	$(PYTEST) -m "not slow"

test-slow: .venv/installed-dev browser
	$(PYTEST) -m slow

# One after the other: each starts a cluster.
test-ray: .venv/installed-dev,ray
	$(BIN)/pytest -m slow -k ray tests/core/engines tests/inference/test_kill.py

# Every case is made from its number: SEED=N begins with another, and what is found is kept in fuzz-findings/.
fuzz: export OMP_NUM_THREADS := 1
fuzz: .venv/installed-dev
	$(BIN)/python -m tests.fuzz --minutes $(or $(MINUTES),10) --seed $(or $(SEED),0)

# Tracing lines makes tests half as slow again, so that it is a target of its own; the tests that are not slow reach 98 %.
coverage: .venv/installed-dev browser
	$(PYTEST) -m "not slow and not browser" $(COVERAGE)

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
