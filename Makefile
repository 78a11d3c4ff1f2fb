PYTHON ?= python3
BIN := .venv/bin
ifeq ($(OS),Windows_NT)
BIN := .venv/Scripts
endif
STAMP := .venv/.installed
export PYTHONUTF8 := 1

.PHONY: venv run test test-all check conformance bench soak snap clean

venv: $(STAMP)

$(STAMP): pyproject.toml
	@git --version > /dev/null 2>&1 || apt-get install -qq -y git || echo "git is missing: the tests build repositories with it"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	@$(BIN)/python -c "open('$(STAMP)', 'w').close()"

run: venv
	rm -rf .cache/demo
	$(BIN)/memolith remember --data .cache/demo "Maria prefers tea to coffee and never has meetings before ten."
	$(BIN)/memolith remember --data .cache/demo "We chose PostgreSQL over MySQL because of row-level security."
	$(BIN)/memolith recall --data .cache/demo "what does Maria like to drink?" --limit 1
	$(BIN)/memolith recall --data .cache/demo "why this database?" --limit 1
	$(BIN)/memolith undo --data .cache/demo 2
	$(BIN)/memolith list --data .cache/demo
	$(BIN)/memolith verify --data .cache/demo
	$(BIN)/memolith serve --data .cache/demo

test: venv
	$(BIN)/python -m pytest -m "not full" -n 2 --dist loadscope --no-loadscope-reorder --durations=10 tests

test-all: venv check
	$(BIN)/python -m pytest tests

check: venv
	$(BIN)/ruff check src tests bench scripts
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/shape

conformance: venv
	$(BIN)/python -m pytest tests/programs/test_conformance.py

bench: venv
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	$(BIN)/python -m bench

soak: venv
	$(BIN)/python -m bench.soak

snap: venv
	$(BIN)/python -m scripts.snap

clean:
	rm -rf .venv .cache build dist
