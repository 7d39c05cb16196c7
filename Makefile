PYTHON ?= python3
BIN := .venv/bin
# a file of tests is one worker's, so that what its tests share is made once
PYTEST := $(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile
KERNELS := $(wildcard src/oeuvre/_kernels/*.py src/oeuvre/_kernels/*.pxd)
export NO_MKDOCS_2_WARNING := 1

.PHONY: help demo test test-compiled test-plain lint paper coverage monitors constants bench docs picture wheel clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# one environment at the root, made once: first what the demo needs, then what the tests need
.venv/demo: pyproject.toml setup.py constraints.txt
	@echo 'Setting up .venv; this takes a minute or two.'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) 'setuptools>=77' 'cython>=3.1,<4'
	$(INSTALL) --no-build-isolation -e '.[demo]'
	touch $@ .venv/kernels

.venv/ready: .venv/demo
	@echo 'Adding what the tests need, River and PyTorch among it.'
	$(INSTALL) --no-build-isolation -e '.[dev]'
	touch $@ .venv/kernels

# the kernels, compiled in place again where one has changed
.venv/kernels: .venv/demo $(KERNELS)
	$(BIN)/python setup.py --quiet build_ext --inplace
	touch $@

demo: .venv/kernels  ## train a model online, watch its loss, get out/demo.png
	$(BIN)/oeuvre demo

test: lint test-compiled test-plain  ## everything that is checked, on both kinds of kernels

lint: .venv/ready  ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

test-compiled: .venv/ready .venv/kernels  ## the tests on the compiled kernels, and wheels
	OEUVRE_KERNELS=compiled $(PYTEST)

# a copy of the package without the compiled files; the environment keeps its own
test-plain: .venv/ready .venv/kernels  ## the tests on the same kernels as plain Python; what gives the same floats is shown once
	rm -rf build/plain && mkdir -p build/plain && cp -r src/oeuvre build/plain/
	find build/plain -name '*.so' -delete
	PYTHONPATH=build/plain OEUVRE_KERNELS=plain $(PYTEST) --ignore tests/packaging --ignore tests/adapters --ignore tests/experiments --ignore tests/statistics

# only a whole run gets to the last lines
paper: .venv/ready .venv/kernels  ## all of the paper's experiments, to docs/results.md; half an hour
	$(BIN)/oeuvre reproduce --out out/paper
	rm -rf docs/results && mkdir docs/results
	cp out/paper/results/*.png docs/results/
	cp out/paper/results.md docs/results.md

coverage: .venv/ready .venv/kernels  ## how often intervals hold, to docs/confidence.md; half an hour
	$(BIN)/oeuvre coverage --out out/coverage --page docs/confidence.md

monitors: .venv/ready .venv/kernels  ## models of three libraries on real data, to docs/monitor.md; half a minute
	$(BIN)/oeuvre monitors --page docs/monitor.md

constants: .venv/ready .venv/kernels  ## how much our constants matter, from the streams of make paper
	$(BIN)/python benchmarks/constants.py

bench: .venv/ready .venv/kernels  ## speed and memory beside their peers, to benchmarks/results.md
	$(BIN)/python benchmarks/run.py

docs: .venv/ready  ## the documentation as a site in site/
	$(BIN)/mkdocs build --strict

picture: .venv/ready .venv/kernels  ## the picture of the README
	$(BIN)/oeuvre demo --out docs/demo.png

wheel: .venv/ready  ## a wheel in dist/
	rm -rf build dist
	$(BIN)/python -m build --wheel

clean:  ## remove everything that was made, compiled kernels too; .venv stays and is filled again by make
	rm -rf build dist out site .*_cache .hypothesis src/*.egg-info
	find src -name '*.so' -delete
	find . -name __pycache__ -not -path './.venv/*' -exec rm -rf {} +
	rm -f .venv/demo .venv/ready .venv/kernels
