# Two commands matter: `make up` runs Caudal, `make test` proves it. Both work in a fresh clone; `make` alone explains the rest.
# The work is done by scripts/; this file says what depends on what. Stamps in .venv say which set-up has been done for which files.

VENV := .venv
PY := $(VENV)/bin/python
INPUTS := pyproject.toml constraints.txt scripts/setup
SITE := src/caudal/ui/site/index.html
ARGS ?=
PARALLEL := --numprocesses 2 --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help up setup test quick test-all lint format bench golden-java docs wheel clean

help:  ## this list
	@echo "Caudal: the Kafka platform in Python."
	@echo
	@sed -n 's/^\([a-z-]*\):.*##  */\1|/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done

up: $(VENV)/.base $(SITE)  ## set up what is needed and run everything with demo data (Ctrl-C stops it); ARGS="--kafka-port 19092"
	$(VENV)/bin/caudal up --demo $(ARGS)

setup: $(VENV)/.base $(VENV)/.tests  ## virtual environment in .venv, pinned dependencies, Java and the jars of the tests

test: setup lint  ## lint and the whole test suite (what .ci/run calls); ARGS="-k name"
	$(PY) -m pytest $(PARALLEL) -m "not slow" $(ARGS)

quick: $(VENV)/.python  ## the unit tests only: under a minute
	STORE_EXAMPLES=8 $(PY) -m pytest $(PARALLEL) tests/unit -q -x -m "not slow" $(ARGS)

test-all: setup lint  ## make test plus what is too long for every run
	$(PY) -m pytest $(PARALLEL) -m "not wide" $(ARGS)
	CAUDAL_TEST_SPARK_THREADS=256 $(PY) -m pytest -m wide $(ARGS)

lint: $(VENV)/.python  ## ruff and mypy
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

format: $(VENV)/.python  ## let ruff format the code and fix what it can
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

bench: setup  ## Caudal beside Apache Kafka, as ratios; ARGS="--help"
	$(VENV)/bin/caudal bench broker $(ARGS)

golden-java: setup  ## run the golden cases of Streams on Kafka Streams' own driver; ARGS="--write" stores its answers
	$(PY) -m caudal.jars fetch kafka-streams-test
	$(PY) -m tests.golden.reference $(ARGS)

docs: $(VENV)/.python  ## build the documentation's site into the package: the control center shows it at /docs
	scripts/docs

wheel: $(VENV)/.python docs  ## build the wheel into dist/ and try it in a clean virtual environment
	scripts/wheel

clean:  ## remove caches and build output (not .venv, not your data)
	rm -rf dist build src/caudal/ui/site .pytest_cache .mypy_cache .ruff_cache .hypothesis

# Without it the control center says how to build it, so a failure here stops nobody.
$(SITE): mkdocs.yml $(wildcard docs/*.md docs/*/*) | $(VENV)/.base
	-scripts/docs

$(VENV)/.base: $(INPUTS)
	scripts/setup base

$(VENV)/.python: $(INPUTS)
	scripts/setup python

$(VENV)/.tests: $(INPUTS) src/caudal/jars.toml
	scripts/setup tests
