# `make demo` and `make test` each do their whole set-up on a fresh machine with Python >= 3.11.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo test slow docs bench clean

demo: $(VENV)/.installed
	$(RUN) -m edgewise demo

test: $(VENV)/.installed-test
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	$(VENV)/bin/lint-imports
	$(RUN) -m pytest -n 2

slow: $(VENV)/.installed-test
	$(RUN) -m pytest -m slow

docs: $(VENV)/.installed
	$(RUN) -m pip install --quiet --group docs
	$(RUN) -m sphinx --fail-on-warning --keep-going -b html docs docs/_build

bench: $(VENV)/.installed-test
	$(RUN) -m pip install --quiet --group bench
	$(RUN) -m benchmarks.graphical_lasso
	$(RUN) -m benchmarks.locally_constant
	$(RUN) -m benchmarks.discrete
	$(RUN) -m benchmarks.change
	$(RUN) -m benchmarks.graph_tree
	$(RUN) -m benchmarks.bayes_net
	$(RUN) -m benchmarks.discriminative

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("edgewise needs Python >= 3.11, found " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet "pip>=25.1"

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(RUN) -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(RUN) -m pip install --quiet --group test
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache edgewise-demo
	find src -name '*.nb?' -delete
