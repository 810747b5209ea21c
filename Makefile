# Everything a person or CI needs. A fresh machine needs python3, make and a package index.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready
MODEL  ?= qwen2.5-coder-1.5b
DEMO   := examples/smoke examples/eval_notes.py

.DEFAULT_GOAL := help
.PHONY: help env machine harbor demo test test-agents check fix docs bench clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

env: $(STAMP)  ## Create the environment in .venv

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "demeanor needs Python 3.11 or newer; try: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,local]'
	@touch $@

# A real model fails some evals, and that is what the demo shows: only an error of Demeanor itself is one of the demo.
demo: $(STAMP)  ## Run examples with a language model on this machine (MODEL=scripted: at once, without one)
	@sandbox=bubblewrap; tools/system.sh git bubblewrap || { sandbox=none; \
	  echo "demo: no bubblewrap, so it goes on with --sandbox none: no wall around the agent" >&2; }; \
	model='$(MODEL)'; case "$$model" in scripted|*/*) ;; *) \
	  $(BIN)/demeanor models fetch "$$model" || { model=scripted; \
	    echo "demo: no weights, so it goes on with native:scripted: a rule-reader, which is no model" >&2; } ;; esac; \
	$(BIN)/demeanor run $(DEMO) --policy all --trials 3 --sandbox $$sandbox --subject "native:$$model"; code=$$?; \
	case $$code in 1|3) echo "demo: done; what did not hold is told above (exit $$code of demeanor run)"; exit 0 ;; esac; \
	exit $$code

machine:
	@tools/system.sh git bubblewrap postgresql

check: $(STAMP) machine  ## Format, lint, types, floors, docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/docs.py --check

# Without Python 3.12 there is no Harbor: the script says so loudly, and the tests that need it say that they are skipped.
harbor:  ## Create the environment of Harbor in .venv-harbor (Python 3.12 or newer)
	@tools/harbor.sh || [ $$? -eq 3 ]

test: check harbor  ## All checks and all tests
	$(BIN)/python -m pytest -n 4 --dist worksteal -m "not agents"

test-agents: $(STAMP) machine  ## Real agents from npm and PyPI, checked, recorded and replayed (needs node and npm)
	$(BIN)/python -m pytest -n 2 -m agents

fix: $(STAMP)  ## Format and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(STAMP)  ## Write the generated parts of the docs anew
	$(BIN)/python tools/docs.py

bench: $(STAMP)  ## Measure overheads on this machine
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[bench]'
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/sandbox.py
	$(BIN)/python benchmarks/soak.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/bench.py
	$(BIN)/python benchmarks/gateway.py
	$(BIN)/python benchmarks/replay.py
	$(BIN)/python benchmarks/history.py
	$(BIN)/python benchmarks/bisection.py

clean:  ## Remove the environment and caches
	rm -rf $(VENV) .venv-harbor .mypy_cache .ruff_cache .hypothesis
