# Everything a person or CI needs. A fresh machine needs python3, make and a package index.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready-tests
MODEL  ?= qwen2.5-coder-1.5b
FUZZ   ?= 15500
PINS   ?= constraints.txt

# Without bytecode files, every start of demeanor in every test compiles all its modules again.
unexport PYTHONDONTWRITEBYTECODE

# Like pip, uv trusts the certificates of the machine, among them those of a company's proxy.
export UV_SYSTEM_CERTS ?= true

.DEFAULT_GOAL := help
.PHONY: help env constraints machine browser registry screenshots harbor demo test quick test-times test-agents test-harbor fuzz check fix docs site bench bench-parts bench-signal release-check release clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

env: $(STAMP) $(VENV)/.ready-docs  ## Create the environment in .venv: tests, website and benchmarks

# A package index that resets connections for a minute must not end a long set-up. As a variable, this also reaches the
# processes that pip starts for build dependencies.
$(STAMP) $(VENV)/.ready-docs harbor: export PIP_RETRIES ?= 9

# The sets of requirements: demo, tests and docs. The website and the benchmarks also need what the tests need.
$(VENV)/.ready-docs: $(STAMP)
$(VENV)/.ready-%: pyproject.toml constraints.txt
	@PYTHON='$(PYTHON)' tools/environment.sh $(VENV) $*

# Keeps the pins that are still valid, and adds what is missing; UPGRADE=--upgrade renews all of them.
constraints: $(STAMP)  ## Pin what the three sets of requirements need, for every supported Python, in constraints.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11.0 --no-annotate --custom-compile-command 'make constraints' \
	  --extra local --extra tests --extra docs $(UPGRADE) --output-file $(PINS) pyproject.toml

demo: $(VENV)/.ready-demo  ## Run examples without a model, then some with a language model on this machine (MODEL=scripted: no download)
	@tools/demo.sh $(BIN) '$(MODEL)'

machine:
	@tools/system.sh git bubblewrap postgresql iproute2 less

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
test: check site harbor browser registry  ## Run all checks and all tests
	MAKEFLAGS= $(BIN)/python -m pytest -n 4 --dist worksteal -m "not agents and not packages" --durations=25

quick: $(STAMP)  ## Check what has changed since the base commit, in 90 seconds (BASE=COMMIT)
	@BASE='$(BASE)' $(BIN)/python tools/quick.py

test-times: $(STAMP)  ## Run the tests and list the CPU time of each test file, in build/test-times.md
	MAKEFLAGS= $(BIN)/python -m pytest -n 4 --dist worksteal -m "not agents and not packages" -p tests.helpers.cpu_times

fuzz: $(STAMP)  ## Feed 200,000 mutated inputs to everything that reads untrusted data
	DEMEANOR_FUZZ=$(FUZZ) $(BIN)/python -m pytest -n auto --dist worksteal tests/hostile/test_fuzz.py tests/hostile/test_fuzz_host.py

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

# Offline; a broken link, a missing anchor, a page that is not in the navigation or a file from another host is an error.
# (With --quiet, mkdocs would ignore warnings, and --strict would do nothing.)
site: $(VENV)/.ready-docs  ## Build the documentation as a website, in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --clean
	@! grep --recursive --include='*.html' --extended-regexp '<(script|link)[^>]+(src|href)="(https?:)?//' build/site
	@echo "open build/site/index.html"

# `make bench BENCH="--peers vitest --sizes 200"` passes options on; benchmarks/bench.py --help lists them.
bench: $(VENV)/.ready-docs  ## Compare with other tools on this machine, and write docs/scale.md (QUICK=1: Demeanor alone, in two minutes)
ifdef QUICK
	$(BIN)/python benchmarks/bench.py --quick $(BENCH)
else
	@tools/harbor.sh || [ $$? -eq 3 ]
	$(BIN)/python benchmarks/bench.py --write $(BENCH)
	$(BIN)/python tools/docs.py
endif

bench-parts: $(VENV)/.ready-docs  ## Measure the parts of Demeanor on this machine: sandboxes, gateway, history, dashboard and more
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

bench-signal: $(VENV)/.ready-docs  ## Check the error rates that reports state and docs/statistics.md shows (WRITE=--write: replace the latter)
	$(BIN)/python benchmarks/error_rates.py $(WRITE)

release-check: $(STAMP) machine  ## Build sdist and wheel, install the wheel in an empty environment, run the tutorial
	$(BIN)/python tools/release.py --draft

release: check  ## The same with every supported Python on this machine, into dist/; prints the command that publishes them
	$(BIN)/python tools/release.py

clean:  ## Remove the environment and caches
	rm -rf $(VENV) .venv-harbor .mypy_cache .ruff_cache .grimp_cache .hypothesis
