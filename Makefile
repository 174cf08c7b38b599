# `make demo` and `make test` each do their whole set-up on a fresh machine with Python >= 3.11.
PYTHON ?= python3
VENV ?= .venv
# Where an environment keeps its programs.
BIN := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
RUN := $(VENV)/$(BIN)/python
LOCK := requirements/test.lock
INSTALL := $(RUN) -m pip install --quiet --constraint $(LOCK) --build-constraint $(LOCK)
export OPENBLAS_NUM_THREADS ?= 1
# Where it is set, every process that a test starts would compile all the sources once more.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test quick test-portable slow coverage test-min test-latest dist smoke release lock docs bench studies nulls clean

demo: $(VENV)/.installed
	$(RUN) -m edgewise demo

test: $(VENV)/.installed-test
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	$(VENV)/$(BIN)/lint-imports
	$(RUN) tools/house.py
	$(RUN) -m pytest -n 2 --dist loadfile

# Two minutes on two cores, once kernels are compiled: all checks, and the tests of what has changed.
quick: $(VENV)/.installed-test
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	$(VENV)/$(BIN)/lint-imports
	$(RUN) tools/house.py
	$(RUN) -m pytest -n 2 --dist loadfile $(shell $(RUN) tools/quick.py)

# What depends on arithmetic, as three other processors would do it: kernels of OpenBLAS, code of numba
# without newer instructions, one or two BLAS threads. It needs a CPU that supports the emulated instruction sets.
test-portable: portable-PRESCOTT-generic-1 portable-SANDYBRIDGE-sandybridge-2 portable-HASWELL-haswell-1

ARITHMETIC := solvers estimators inference graph selection stats data studies contract corpus
portable-%: $(VENV)/.installed-test
	OPENBLAS_CORETYPE=$(word 1,$(subst -, ,$*)) NUMBA_CPU_NAME=$(word 2,$(subst -, ,$*)) NUMBA_CPU_FEATURES= \
	OPENBLAS_NUM_THREADS=$(word 3,$(subst -, ,$*)) NUMBA_CACHE_DIR=$(abspath $(VENV))/kernels-$* \
	$(RUN) -m pytest -n 2 --dist loadfile $(ARITHMETIC:%=tests/%) src/edgewise

slow: $(VENV)/.installed-test
	$(RUN) -m pytest -m slow

# Lines of src that the tests run. Nothing sees lines of a compiled kernel, so that the tests of kernels run
# once more without compiling. Least and report are in pyproject.toml.
coverage: $(VENV)/.installed-test
	$(RUN) -m coverage erase
	$(RUN) -m coverage run -m pytest -n 2 --dist loadfile
	NUMBA_DISABLE_JIT=1 $(RUN) -m coverage run -m pytest -n 2 -p no:randomly -p tools.uncompiled tests/data tests/solvers tests/stats
	$(RUN) -m coverage combine --quiet
	$(RUN) -m coverage report

# The oldest versions of dependencies that pyproject.toml allows, and the newest there are. Old ones
# may call what is deprecated in packages they themselves build on.
test-min: .venv-min/.installed
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-min/kernels .venv-min/$(BIN)/python -m pytest -n 2 --dist loadfile -W ignore::DeprecationWarning

test-latest:
	$(PYTHON) -m venv --clear .venv-latest
	.venv-latest/$(BIN)/python -m pip install --quiet "pip>=25.3"
	.venv-latest/$(BIN)/python -m pip install --quiet --editable . --group test
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-latest/kernels .venv-latest/$(BIN)/python -m pytest -n 2 --dist loadfile

# Both are built twice and compared; then the wheel has to work in an environment of its own.
dist: $(VENV)/.installed
	$(INSTALL) --group dist
	$(RUN) tools/build.py dist

smoke: dist
	$(PYTHON) -m venv --clear .venv-smoke
	.venv-smoke/$(BIN)/python -m pip install --quiet --no-compile --constraint $(LOCK) dist/*.whl
	.venv-smoke/$(BIN)/python tools/smoke.py

# Builds, checks and tags; publishes nothing. What comes before and after is in RELEASING.md.
release: $(VENV)/.installed-test
	$(RUN) tools/release.py check
	$(MAKE) test
	$(MAKE) smoke
	$(MAKE) docs
	$(RUN) tools/release.py tag

lock: $(VENV)/pyvenv.cfg
	$(RUN) -m pip install --dry-run --ignore-installed --quiet --report - \
	  --editable . --group test --group docs --group dist pip > $(VENV)/report.json
	$(RUN) tools/pins.py lock < $(VENV)/report.json > $(LOCK)

docs: $(VENV)/.installed
	$(INSTALL) --group docs
	$(RUN) -m sphinx --fail-on-warning --keep-going -b html docs docs/_build

# Writes docs/benchmarks.md; `make bench BENCH="space --quick"` runs a part. What cannot be installed
# here is skipped, and the page says so.
bench: $(VENV)/.installed-test
	-$(RUN) -m pip install --quiet --group bench
	$(RUN) -m benchmarks.page $(BENCH)

# Runs every study to its end, and writes their tables to docs/studies/results; `make studies
# STUDIES="bjp --quick"` runs one. A run that was stopped goes on where it was.
STUDIES ?= all --pages docs/studies/results
studies: $(VENV)/.installed
	$(RUN) -m studies $(STUDIES)

# Fails where commands, or what they advise, find more in tables without effects than they may.
nulls: $(VENV)/.installed
	$(RUN) -m studies null-tables --jobs -1
	$(RUN) -c "import json, sys; r = json.load(open('studies-out/null-tables/run.json')); sys.exit(any(c['holds'] != 'yes' for c in r['claims']))"

$(VENV)/pyvenv.cfg:
	$(PYTHON) -c 'import sys; sys.exit("edgewise needs Python >= 3.11, found " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --constraint $(LOCK) "pip>=25.3"

$(VENV)/.installed: $(VENV)/pyvenv.cfg pyproject.toml $(LOCK)
	$(INSTALL) --editable .
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(INSTALL) --group test
	touch $@

.venv-min/.installed: pyproject.toml tools/pins.py
	$(PYTHON) -m venv --clear .venv-min
	.venv-min/$(BIN)/python -m pip install --quiet "pip>=25.3"
	.venv-min/$(BIN)/python tools/pins.py minimum > .venv-min/minimum.txt
	.venv-min/$(BIN)/python -m pip install --quiet --constraint .venv-min/minimum.txt --editable . --group test
	touch $@

clean:
	rm -rf $(VENV) .venv-min .venv-latest .venv-smoke dist docs/_build docs/gallery docs/reference .mypy_cache .ruff_cache .pytest_cache .coverage* edgewise-demo
	find src -name __pycache__ -exec rm -rf {} +
