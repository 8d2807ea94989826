# Each target does its own set-up; a repeated call repeats nothing that is up to date.
#   make test PYTHON=python3.12        another interpreter (rebuilds .venv)
#   make test ARGS="-k pendulum"     arguments for pytest, the examples or the benchmarks

PYTHON ?= python3
ARGS ?=
VENV := .venv
BENCH := .venv-bench
PIP := -m pip --disable-pip-version-check install -qq
# One marker per interpreter, so that naming another one rebuilds the environment.
MADE := .made-with-$(subst /,-,$(PYTHON))

# Pictures are written to files; a machine without a screen draws the same ones.
export MPLBACKEND ?= Agg
# Many small matrices, several processes: threads inside LAPACK would only wait for each other.
export OPENBLAS_NUM_THREADS ?= 1
# Byte code of the tests is kept, whatever Python has been told: their assertions are rewritten once.
unexport PYTHONDONTWRITEBYTECODE
# The pinned version is meant: do not ask whether there is a newer one.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.PHONY: help demo docs test test-slow test-random test-elsewhere lint format bench bench-smoke bench-constraints clean
.DELETE_ON_ERROR:

help:
	@echo "make demo    run the worked examples: a table of results and a folder of pictures"
	@echo "make docs    build the documentation: site/index.html"
	@echo "make test    run the tests; make test-slow those that take long"
	@echo "make test-random  run the random tests with new numbers"
	@echo "make test-elsewhere  run the tests as on other machines (other BLAS, one core, no heyoka)"
	@echo "make lint    check style and types"
	@echo "make format  mend the style"
	@echo "make bench   compare with other packages (bench-constraints: under constraints;"
	@echo "             bench-smoke: see whether the benchmarks run)"
	@echo "make clean   remove everything that was generated"

demo: $(VENV)/.installed
	@echo "examples"
	@$(VENV)/bin/python -m examples $(ARGS)

docs: $(VENV)/.installed
	@echo "documentation"
	@$(VENV)/bin/python docs/build.py $(or $(ARGS),site)

# In parallel here rather than in pyproject.toml: one test by hand starts faster without workers.
test: $(VENV)/.installed
	@echo "tests"
	@$(VENV)/bin/python -m pytest -q -n auto --dist worksteal -m "not slow" $(ARGS)

# What takes long: millions of steps, a wheel in an empty environment, many random files.
test-slow: $(VENV)/.installed
	@echo "slow tests"
	@$(VENV)/bin/python -m pytest -q -n auto --dist worksteal -m slow $(ARGS)

# New random numbers in every run: for looking for what nobody has thought of.
test-random: $(VENV)/.installed
	@echo "random tests"
	@HYPOTHESIS_PROFILE=free $(VENV)/bin/python -m pytest -q -n auto --dist worksteal \
	  tests/physics/test_random_systems.py tests/io/test_fuzz.py $(ARGS)

# As on other machines: with the BLAS of other processors, each in another order, on one core beside
# a busy neighbour, in other units, without heyoka, and with new random numbers.
ELSEWHERE := $(VENV)/bin/python -m pytest -q -m "not slow"
test-elsewhere: $(VENV)/.installed
	@for kind in Haswell Zen SkylakeX; do \
	  echo "tests, shuffled, on the BLAS of $$kind"; \
	  OPENBLAS_CORETYPE=$$kind $(ELSEWHERE) -n auto --dist worksteal --shuffle $${#kind} $(ARGS) || exit 1; \
	done
	@echo "tests, on one core beside a busy neighbour"
	@taskset -c 0 sh -c 'while :; do :; done' & busy=$$!; \
	  taskset -c 0 $(ELSEWHERE) $(ARGS); code=$$?; kill $$busy; exit $$code
	@for units in nanometres light-years; do \
	  echo "references, also asked in units of $$units"; \
	  $(ELSEWHERE) -n auto --dist worksteal --units $$units tests/physics/test_references.py \
	    tests/physics/test_rest_references.py tests/physics/test_nonholonomic_references.py $(ARGS) || exit 1; \
	done
	@echo "tests, without heyoka"
	@$(ELSEWHERE) -n auto --dist worksteal --without heyoka $(ARGS)
	@$(MAKE) --no-print-directory test-random

lint: $(VENV)/.installed
	@echo "ruff check"
	@$(VENV)/bin/ruff check -q
	@echo "ruff format"
	@$(VENV)/bin/ruff format -q --check
	@echo "pyright"
	@$(VENV)/bin/pyright --pythonpath $(VENV)/bin/python

format: $(VENV)/.installed
	@$(VENV)/bin/ruff check -q --fix
	@$(VENV)/bin/ruff format -q

bench: $(BENCH)/.installed
	@echo "benchmarks"
	@$(BENCH)/bin/python -m benchmarks $(ARGS)

# Whether the benchmarks run, in seconds and beside no other package: their numbers mean nothing.
bench-smoke: $(VENV)/.installed
	@echo "benchmarks, quickly"
	@said=$$($(VENV)/bin/python -m benchmarks --quick --peers stationary 2>&1) || \
	  { echo "$$said"; exit 1; }

bench-constraints: $(BENCH)/.installed
	@echo "benchmarks under constraints"
	@$(BENCH)/bin/python -m benchmarks.chains $(ARGS)

clean:
	@rm -rf $(VENV) $(BENCH) build dist gallery site .pytest_cache .ruff_cache .hypothesis
	@find src tests examples benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

%/$(MADE):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	  "$(PYTHON) is too old: stationary needs Python 3.11 or newer. Try: make PYTHON=python3.12")'
	@echo "creating $*"
	@$(PYTHON) -m venv --clear $*
	@touch $@

# The build backend comes first: without build isolation its version is pinned as well. Byte code
# is made here, since Python may have been told to keep none: importing takes a third longer without.
$(VENV)/.installed: $(VENV)/$(MADE) pyproject.toml constraints.txt
	@echo "installing into $(VENV)"
	@$(VENV)/bin/python $(PIP) -c constraints.txt hatchling editables
	@$(VENV)/bin/python $(PIP) -c constraints.txt --no-build-isolation -e '.[dev,tables,control,sliding]'
	@$(VENV)/bin/python -m compileall -q src
	@touch $@

$(BENCH)/.installed: $(BENCH)/$(MADE) pyproject.toml constraints.txt benchmarks/constraints.txt
	@echo "installing into $(BENCH)"
	@$(BENCH)/bin/python $(PIP) -c constraints.txt hatchling editables
	@$(BENCH)/bin/python $(PIP) -c constraints.txt -c benchmarks/constraints.txt \
	  --no-build-isolation -e '.[benchmarks]'
	@$(BENCH)/bin/python -m compileall -q src
	@touch $@

.PRECIOUS: %/$(MADE)
