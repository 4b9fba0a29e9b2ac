# `make help` lists what can be made. PYTHON3 is any Python from 3.11 on; everything else is installed into .venv.
PYTHON3 ?= python3
VENV := .venv
INSTALLED := $(VENV)/installed

TRAINED := dates:dates_bahdanau digits:ram_digits shapes:shapes_small

.DEFAULT_GOAL := help
.PHONY: help install train trained test test-slow faults lint check-conf

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

install: $(INSTALLED) ## install into .venv (every other target does so when needed)

$(INSTALLED): pyproject.toml
	$(PYTHON3) -m venv $(VENV)
	$(VENV)/bin/python -m pip install -e '.[dev]'
	touch $@

train: $(INSTALLED) ## train the first model: human-written dates to ISO 8601, a few minutes on a laptop
	$(VENV)/bin/python train.py experiment=dates_bahdanau

trained: $(INSTALLED) ## train and export again the models that come with the package; a quarter of an hour
	rm -rf build/trained
	set -e; for model in $(TRAINED); do \
	  $(VENV)/bin/python train.py experiment=$${model#*:} logger=csv paths.runs_dir=build/trained/$${model%:*}; \
	  $(VENV)/bin/zoo export build/trained/$${model%:*}/*/* zoo/inference/trained/$${model%:*} \
	    --license Apache-2.0 --overwrite; \
	done

test: $(INSTALLED) ## run the quick tests, on two processes
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest -n 2

test-slow: $(INSTALLED) ## run the tests that take minutes
	$(VENV)/bin/python -m pytest -m slow

faults: $(INSTALLED) ## try accidents and hostile inputs again and count them in results/faults.json; an hour
	rm -f results/faults.json
	ZOO_FAULT_TABLE=results/faults.json $(VENV)/bin/python -m pytest -m hostile
	ZOO_FAULT_TABLE=results/faults.json $(VENV)/bin/python -m pytest -m slow tests/faults
	$(VENV)/bin/python -m zoo.reports.publish

lint: $(INSTALLED) ## check style and types
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

check-conf: $(INSTALLED) ## check every recipe in conf/experiment without running it
	$(VENV)/bin/python train.py -m check=true 'experiment=glob(*)'
