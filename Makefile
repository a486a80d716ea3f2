# What a developer needs: Python 3.11 or later, make, a C compiler.
PYTHON ?= python3
VENV ?= .venv
ORACLE_VENV ?= .venv-oracle
BOARD_VENV ?= .venv-tensorboard
PEERS_VENV ?= .venv-peers
DEMO_OUT ?= demo-out
WHEELS_OUT ?= dist
JOBS ?= 2
FUZZ ?= 1000

BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DEV_INSTALLED := $(VENV)/.installed-dev
ORACLE_INSTALLED := $(ORACLE_VENV)/.installed
PEERS_INSTALLED := $(PEERS_VENV)/.installed
PIP_FLAGS := --quiet --disable-pip-version-check

.PHONY: help demo test fuzz gradients mutants sanitize simt ptxas gpu-test tensorboard lint format oracle rows stub coverage man reference bench \
	library wheels tag clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 20

demo: $(INSTALLED) ## compile a trained model to a library, run it from Python and from C
	PATH="$(CURDIR)/$(BIN):$$PATH" examples/digits/demo.sh $(DEMO_OUT)

test: $(DEV_INSTALLED) ## all tests; no TensorFlow
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

fuzz: $(DEV_INSTALLED) ## random and malformed graphs, FUZZ of each kind, and every example in every dtype
	FLOWC_FUZZ=$(FUZZ) FLOWC_ALL_DTYPES=1 $(BIN)/python -m pytest -n $(JOBS) \
	  -k "(fuzz or flipped or compiled_code or serves_every_size or matrices) and not fuzzed_graphs"
	PYTHONPATH=.:runtime:tests/support $(BIN)/python tests/support/campaigns/fuzz_campaign.py \
	  $$(($(FUZZ) * 131072 / 1000)) --jobs $(JOBS) --log docs/fuzz.log
	for kind in calls rows feeds files; do \
	  PYTHONPATH=.:runtime:tests/support $(BIN)/python tests/support/campaigns/fuzz_campaign.py --of $$kind \
	    $$(($(FUZZ) * 16384 / 1000)) --jobs $(JOBS) --log docs/fuzz-$$kind.log || exit 1; done
	for kind in feeds-of-ops feeds-of-rows; do \
	  PYTHONPATH=.:runtime:tests/support $(BIN)/python tests/support/campaigns/fuzz_campaign.py --of $$kind \
	    $$(($(FUZZ) * 4096 / 1000)) --jobs $(JOBS) --log docs/fuzz-$$kind.log || exit 1; done

gradients: $(DEV_INSTALLED) $(ORACLE_INSTALLED) ## gradients of FUZZ random programs of each kind and of every op, beside TensorFlow's
	mkdir -p build
	PYTHONPATH=.:tests/support $(ORACLE_VENV)/bin/python tests/oracle/record_gradient_fuzz.py \
	  build/gradient_fuzz.npz 0 $(FUZZ)
	FLOWC_GRADIENT_FUZZ=$(CURDIR)/build/gradient_fuzz.npz FLOWC_FUZZ=$(FUZZ) $(BIN)/python -m pytest \
	  -n $(JOBS) -o addopts= tests/api/training/test_gradient_fuzz.py | tee build/gradients.txt
	tail -n 1 build/gradients.txt > docs/gradients.log
	$(ORACLE_VENV)/bin/python -m pytest -n $(JOBS) -o addopts= tests/ops/test_gradients.py \
	  tests/oracle/test_oracle_op_gradients.py \
	  > build/op-gradients.txt; tail -n 1 build/op-gradients.txt | tee -a docs/gradients.log

sanitize: $(DEV_INSTALLED) ## every op's code with checks of each access to memory (needs gcc)
	FLOWC_SANITIZE=1 $(BIN)/python -m pytest -n $(JOBS) tests/security/test_sanitizers.py

simt: $(DEV_INSTALLED) ## every op's code for GPUs, run on the host
	FLOWC_SIMT=1 $(BIN)/python -m pytest -n $(JOBS) tests/codegen/cuda

mutants: $(DEV_INSTALLED) ## changes of the code that reads and writes files: does a test notice each?
	mkdir -p build
	$(BIN)/pip install --quiet pytest-cov
	$(BIN)/python -m pytest -n $(JOBS) -o junit_family=xunit1 --junitxml=build/times.xml \
	  --cov=flowc/checkpoint --cov=flowc/cache --cov=flowc/importer --cov=flowc/encoding \
	  --cov=flowc/files --cov-branch --cov-context=test --cov-report=term \
	  tests/checkpoint tests/cache tests/importer tests/encoding tests/files tests/security tests/cli
	$(BIN)/python tests/support/campaigns/mutation_campaign.py .coverage build/times.xml \
	  --count $$(($(FUZZ) / 2)) --jobs $(JOBS) --log docs/mutants.log

ptxas: $(DEV_INSTALLED) ## an assembler takes the kernels of every op, for eight architectures
	FLOWC_PTXAS_ALL=1 $(BIN)/python -m pytest -n $(JOBS) -rA tests/codegen/cuda/test_ptx.py

gpu-test: $(DEV_INSTALLED) ## every op's code for GPUs, whole runs and training on the GPU that is there
	FLOWC_GPU=1 $(BIN)/python -m pytest -n $(JOBS) --dist load tests/codegen/cuda/test_gpu*.py \
	  tests/codegen/cuda/test_device_*.py tests/extending/test_kernels_for_gpus.py

tensorboard: $(DEV_INSTALLED) ## TensorBoard reads our files and a browser shows them (Debian's chromium)
	test -x $(BOARD_VENV)/bin/tensorboard || { $(PYTHON) -m venv $(BOARD_VENV) && \
	  $(BOARD_VENV)/bin/python -m pip install $(PIP_FLAGS) 'tensorboard==2.21.*' 'setuptools<81'; }
	FLOWC_TENSORBOARD=$(CURDIR)/$(BOARD_VENV)/bin/tensorboard $(BIN)/python -m pytest -rs \
	  tests/api/summaries/test_tensorboard.py

lint: $(DEV_INSTALLED) ## ruff and pyright
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

format: $(DEV_INSTALLED) ## let ruff format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

oracle: $(ORACLE_INSTALLED) ## record TensorFlow's results anew, and compare with it live
	for script in tests/oracle/make_*.py tests/oracle/record_*.py; do \
	  PYTHONPATH=.:tests/support $(ORACLE_VENV)/bin/python $$script || exit 1; done
	$(MAKE) rows
	$(ORACLE_VENV)/bin/python -m pytest -m oracle -n $(JOBS)

rows: $(DEV_INSTALLED) ## write docs/tf1-rows.md from the programs of its rows
	PYTHONPATH=.:runtime:tests/support $(BIN)/python tests/support/pages/rows_page.py

bench: $(DEV_INSTALLED) $(if $(filter peers,$(BENCH)),$(PEERS_INSTALLED) library) ## how fast compiled code is; BENCH=peers: beside others
	FLOWC_PEERS_PYTHON=$(PEERS_VENV)/bin/python $(BIN)/python benchmarks/run.py $(BENCH)

stub: $(DEV_INSTALLED) ## write where op records are, and what editors read of the public API
	PYTHONPATH=.:runtime:tests/support $(BIN)/python tests/support/pages/record_index.py
	PYTHONPATH=.:runtime:tests/support $(BIN)/python tests/support/pages/api_stub.py

coverage: $(DEV_INSTALLED) ## write docs/coverage.md, which names of TensorFlow are there
	PYTHONPATH=.:runtime:tests/support $(BIN)/python tests/support/pages/coverage_page.py

man: $(DEV_INSTALLED) ## write docs/flowc.1, the page that `man flowc` shows
	PYTHONPATH=.:runtime:tests/support $(BIN)/python tests/support/pages/man_page.py

reference: $(DEV_INSTALLED) ## write build/reference, pages of all public names with their docstrings
	PYTHONPATH=.:runtime:tests/support $(BIN)/python tests/support/pages/reference_pages.py build/reference

library: $(INSTALLED) ## compile the kernels that models have in common, for this checkout and its wheels
	$(BIN)/python -c 'from flowc.cache.library_making import main; main()'

wheels: library ## wheels of flowc and of flowc-runtime, which needs NumPy alone
	HATCH_BUILD_NO_HOOKS=true $(BIN)/python -m pip wheel $(PIP_FLAGS) --no-deps --wheel-dir $(WHEELS_OUT) . ./runtime

tag: ## tag the commit with the version that CHANGELOG.md calls released; nothing is pushed
	@version=$$(sed -n 's/^FLOWC_VERSION = "\(.*\)"/\1/p' flowc/version.py); \
	  grep -q "^## Released ($$version)" CHANGELOG.md || { echo "CHANGELOG.md has no released $$version" >&2; exit 1; }; \
	  test -z "$$(git status --porcelain)" || { echo "something is not committed" >&2; exit 1; }; \
	  PYTHONPATH=.:runtime:tests/support $(BIN)/python tests/support/pages/record_index.py --check || { echo "the index of records is old: make stub" >&2; exit 1; }; \
	  git tag -a "v$$version" -m "flowc $$version" && echo "v$$version"

clean: ## remove the environments and what the demo made
	rm -rf $(VENV) $(ORACLE_VENV) $(BOARD_VENV) $(PEERS_VENV) $(DEMO_OUT)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "flowc needs Python 3.11 or later: make PYTHON=python3.11 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(INSTALLED): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install $(PIP_FLAGS) --editable .
	touch $@

$(DEV_INSTALLED): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install $(PIP_FLAGS) --editable '.[dev]'
	touch $@ $(INSTALLED)

$(ORACLE_INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(ORACLE_VENV)
	$(ORACLE_VENV)/bin/python -m pip install $(PIP_FLAGS) --editable '.[dev,oracle]'
	touch $@

$(PEERS_INSTALLED): benchmarks/peers/requirements.txt
	$(PYTHON) -m venv $(PEERS_VENV)
	$(PEERS_VENV)/bin/python -m pip install $(PIP_FLAGS) -r $<
	touch $@
