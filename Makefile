# Everything a person or CI needs. A fresh machine needs python3, make and a package index.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready
MODEL  ?= qwen2.5-coder-1.5b
FUZZ   ?= 15500
DEMO   := examples/smoke examples/eval_notes.py

# Without bytecode files, every start of demeanor in every test compiles all its modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help env machine browser registry screenshots harbor demo test test-agents test-harbor fuzz check fix docs site bench bench-parts bench-signal release-check test-wheel clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

env: $(STAMP)  ## Create the environment in .venv

# A package index that resets connections for a minute must not end a long set-up. As a variable, this also reaches the
# processes that pip starts for build dependencies.
$(STAMP) harbor: export PIP_RETRIES ?= 9

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "demeanor needs Python 3.11 or newer; try: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,local]'
	@touch $@

# A real model fails some evals, which is what the demo shows. Only an error of Demeanor itself fails the demo.
demo: $(STAMP)  ## Run examples with a language model on this machine (MODEL=scripted: no model, no download)
	@sandbox=bubblewrap; tools/system.sh git bubblewrap || { sandbox=none; \
	  echo "demo: bubblewrap is not available, using --sandbox none: the agent is not isolated" >&2; }; \
	model='$(MODEL)'; case "$$model" in scripted|*/*) ;; *) \
	  $(BIN)/demeanor models fetch "$$model" || { model=scripted; \
	    echo "demo: the model could not be downloaded, using native:scripted, a rule-based script instead of a model" >&2; } ;; esac; \
	$(BIN)/demeanor run $(DEMO) --policy all --trials 3 --sandbox $$sandbox --subject "native:$$model"; code=$$?; \
	case $$code in 0|1|3) echo "demo: look at these results in the browser: $(BIN)/demeanor serve" ;; esac; \
	case $$code in 1|3) echo "demo: finished; some evals failed, see the report above (demeanor run exited with $$code)"; exit 0 ;; esac; \
	exit $$code

machine:
	@tools/system.sh git bubblewrap postgresql iproute2

# Without a browser the tests that need one are skipped, and say so.
browser: $(STAMP)
	@tools/system.sh chromium || echo "browser: chromium is not available; browser tests will be skipped" >&2

# Without a registry of images the tests that need one are skipped, and say so.
registry:
	@tools/system.sh docker-registry || echo "registry: docker-registry is not available; tests that pull images will be skipped" >&2

screenshots: $(STAMP) browser  ## Take pictures of every page of the dashboard, in build/screenshots (docs/images: tools/screenshots.py --docs)
	$(BIN)/python tools/screenshots.py

check: $(STAMP) machine  ## Check format, lint, types, layers and generated docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/docs.py --check

# Harbor needs Python 3.12. Without it the script prints a warning, and the tests that need Harbor are reported as skipped.
harbor:  ## Create the environment of Harbor in .venv-harbor (Python 3.12 or newer)
	@tools/harbor.sh || [ $$? -eq 3 ]

# `make --jobs=2 test` is fine; the tests that start make themselves must not inherit that.
test: check harbor browser registry  ## Run all checks and all tests
	MAKEFLAGS= $(BIN)/python -m pytest -n 4 --dist worksteal -m "not agents and not packages" --durations=25

fuzz: $(STAMP)  ## Feed 200,000 mutated inputs to everything that reads untrusted data
	DEMEANOR_FUZZ=$(FUZZ) $(BIN)/python -m pytest -n auto --dist worksteal tests/hostile/test_fuzz.py

test-agents: $(STAMP) machine  ## Test real agents from npm and PyPI: check, record, replay (needs node and npm)
	$(BIN)/python -m pytest -n 3 --dist worksteal -m agents

test-harbor: $(STAMP) machine harbor registry  ## Run tasks that install packages in images, without a container engine (minutes; needs a network)
	@tools/system.sh mmdebstrap
	$(BIN)/python -m pytest -m packages

fix: $(STAMP)  ## Format, and apply automatic lint fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(STAMP)  ## Regenerate the generated parts of the docs, and the JSON schemas
	$(BIN)/python tools/docs.py

# Offline; a broken link, a missing anchor or a page that is not in the navigation is an error.
site: $(STAMP)  ## Build the documentation as a website, in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --clean
	@echo "open build/site/index.html"

# `make bench BENCH="--peers vitest --sizes 200"` passes options on; benchmarks/bench.py --help lists them.
bench: $(STAMP)  ## Compare with other tools on this machine, and write docs/benchmarks.md (QUICK=1: Demeanor alone, in two minutes)
ifdef QUICK
	$(BIN)/python benchmarks/bench.py --quick $(BENCH)
else
	@tools/harbor.sh || [ $$? -eq 3 ]
	$(BIN)/python benchmarks/bench.py --write $(BENCH)
	$(BIN)/python tools/docs.py
endif

bench-parts: $(STAMP)  ## Measure the parts of Demeanor on this machine: sandboxes, gateway, history, dashboard and more
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[bench]'
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/sandbox.py
	$(BIN)/python benchmarks/soak.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/none_sandbox.py
	$(BIN)/python benchmarks/gateway.py
	$(BIN)/python benchmarks/replay.py
	$(BIN)/python benchmarks/history.py
	$(BIN)/python benchmarks/bisection.py
	$(BIN)/python benchmarks/dashboard.py
	[ ! -x .venv-harbor/bin/python ] || .venv-harbor/bin/python benchmarks/task_root.py

bench-signal: $(STAMP)  ## Print the error rates in docs/decide.md and docs/statistics.md (WRITE=--write: replace them, and the plots)
	$(BIN)/python benchmarks/error_rates.py $(WRITE)

release-check: $(STAMP) machine  ## Build sdist and wheel, install the wheel in an empty environment, run the tutorial
	$(BIN)/python tools/release_check.py

test-wheel: $(STAMP) machine  ## The same with every supported Python on this machine
	$(BIN)/python tools/release_check.py --all

clean:  ## Remove the environment and caches
	rm -rf $(VENV) .venv-harbor .mypy_cache .ruff_cache .hypothesis
