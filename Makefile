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
DEMO := .cache/demo
CODE := src tests bench scripts training
export PYTHONUTF8 := 1

.PHONY: run venv check compiled test test-all conformance bench bench-quick bench-peers bench-peers-page soak snap dist site pictures lock clean

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

# The tour is taken once; what you keep on the page afterwards stays.
run: $(BASE) $(DEMO)
	@echo "memolith: serving $(DEMO); delete that folder to take the tour again"
	$(BIN)/memolith serve --data $(DEMO)

$(DEMO): | $(BASE)
	$(BIN)/memolith remember --data $(DEMO) "Maria prefers tea to coffee and never has meetings before ten."
	$(BIN)/memolith remember --data $(DEMO) "We chose PostgreSQL over MySQL because of row-level security."
	$(BIN)/memolith recall --data $(DEMO) "what does Maria like to drink?" --limit 1
	$(BIN)/memolith recall --data $(DEMO) "why this database?" --limit 1
	$(BIN)/memolith undo --data $(DEMO) 2
	$(BIN)/memolith list --data $(DEMO)
	$(BIN)/memolith verify --data $(DEMO)

venv: $(TEST)

check: $(TEST)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/shape

# The tests start hundreds of processes, which then need not compile the source themselves.
compiled: $(TEST)
	@$(BIN)/python -m compileall -q src tests

# Four workers on two cores: tests of the page and of servers often wait for another process.
test: compiled
	$(BIN)/python -m scripts.run_tests -m "not full" -n 4 --dist loadscope --no-loadscope-reorder --durations=10 tests

# Coverage is measured over the quick tests: the full matrices compare times, and measuring
# lines would distort those. Two workers then, because a third one would distort them, too.
test-all: check compiled
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m scripts.run_tests -m "not full" -n 3 --dist loadscope --no-loadscope-reorder tests
	$(BIN)/python -m scripts.run_tests -m full -n 2 --dist loadscope --no-loadscope-reorder --durations=20 tests
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m scripts.coverage_by_folder

conformance: $(TEST)
	$(BIN)/python -m pytest tests/programs/test_conformance.py

bench: compiled
	$(BIN)/python -m pip install --editable ".[bench]"
	$(BIN)/python -m bench

# This commit next to the commit that bench/baseline.toml names. A line that is more than 20 % slower
# in four measurements out of four fails.
bench-quick: compiled
	$(BIN)/python -m bench.quick

# memolith beside other memories; needs about 6 GB in .cache and an hour on a quiet machine. What is in
# bench/peers/results is not measured again: delete a file, or give PEERS="--again".
bench-peers: compiled
	$(BIN)/python -m bench.peers $(PEERS)

# Only write docs/why/measurements.md from the results.
bench-peers-page: $(TEST)
	$(BIN)/python -m bench.peers --page

soak: $(TEST)
	$(BIN)/python -m bench.soak

snap: $(TEST)
	$(BIN)/python -m scripts.snap

# Build what is released into dist/ and check it with the validator of each format. The first run
# fetches about 1 GB of validators, clients among them, into .cache.
dist: $(TEST)
	$(BIN)/python -m scripts.distribution

# The documentation site, in build/site. It fails if a link or an anchor leads nowhere.
site: $(TEST)
	$(BIN)/python -m scripts.site

# Take the pictures of the page for README and docs again.
pictures: $(TEST)
	MEMOLITH_PICTURES=1 $(BIN)/python -m pytest tests/page/test_walk.py -k pictures

# Resolve the newest versions of everything the tests need, and pin them.
lock: $(BASE)
	$(BIN)/python -m scripts.lock

clean:
	rm -rf .venv .cache build dist
