# `make run` for a first look, `make check` and `make test` while you work on the code.
# Two stamps say what is installed in .venv: memolith alone, or memolith with what the tests need.

PYTHON ?= python3
# The pinned versions for development. `make test LOCK=` takes the newest versions instead.
LOCK ?= requirements-dev.lock

BIN := .venv/bin
ifeq ($(OS),Windows_NT)
BIN := .venv/Scripts
endif
BASE := .venv/.base
TEST := .venv/.test
CODE := src tests bench scripts training
export PYTHONUTF8 := 1

.PHONY: run venv check compiled test test-all conformance bench soak snap lock clean

$(BASE): pyproject.toml
	@echo "memolith: making a virtual environment in .venv"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "memolith: installing memolith and its dependencies"
	$(BIN)/python -m pip install --editable .
	@touch $@

$(TEST): $(BASE) $(LOCK)
	@echo "memolith: installing what the tests need"
	$(BIN)/python -m pip install $(if $(LOCK),--constraint $(LOCK)) --editable ".[test]"
	@touch $@

run: $(BASE)
	rm -rf .cache/demo
	$(BIN)/memolith remember --data .cache/demo "Maria prefers tea to coffee and never has meetings before ten."
	$(BIN)/memolith remember --data .cache/demo "We chose PostgreSQL over MySQL because of row-level security."
	$(BIN)/memolith recall --data .cache/demo "what does Maria like to drink?" --limit 1
	$(BIN)/memolith recall --data .cache/demo "why this database?" --limit 1
	$(BIN)/memolith undo --data .cache/demo 2
	$(BIN)/memolith list --data .cache/demo
	$(BIN)/memolith verify --data .cache/demo
	$(BIN)/memolith serve --data .cache/demo

venv: $(TEST)

check: $(TEST)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/shape

# The tests start hundreds of processes, which then need not compile the source themselves.
compiled: $(TEST)
	@$(BIN)/python -m compileall -q src tests

test: compiled
	$(BIN)/python -m pytest -m "not full" -n 2 --dist loadscope --no-loadscope-reorder --durations=10 tests

test-all: check compiled
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest -n 2 --dist loadscope --no-loadscope-reorder tests
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m scripts.coverage_by_folder

conformance: $(TEST)
	$(BIN)/python -m pytest tests/programs/test_conformance.py

bench: compiled
	$(BIN)/python -m pip install --editable ".[bench]"
	$(BIN)/python -m bench

soak: $(TEST)
	$(BIN)/python -m bench.soak

snap: $(TEST)
	$(BIN)/python -m scripts.snap

# Resolve the newest versions of everything the tests need, and pin them.
lock: $(BASE)
	$(BIN)/python -m scripts.lock

clean:
	rm -rf .venv .cache build dist
