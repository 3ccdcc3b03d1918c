# Two commands are enough: `make run` serves the site, `make test` checks it. Both set up what they need.
HOST ?= 127.0.0.1
PORT ?= 8000
VENV ?= .venv
PYTHON := $(VENV)/bin/python
# Python compiles what is imported; all that is installed would take half of the time.
PIP_HOW := -qq --disable-pip-version-check --no-compile --require-hashes
# A hundred processes of a test run would else compile it all again, each of them, where this is set.
unexport PYTHONDONTWRITEBYTECODE
ON_POSTGRESQL := tests/conversations tests/compression tests/agents
SECOND_TRIES := $(abspath $(VENV))/second-tries
.DEFAULT_GOAL := run

.PHONY: run setup test needs check docs lock wheel bench bench-load bench-memory bench-retention torture clean

run: setup
	@$(PYTHON) manage.py fetch_model
	@exec $(PYTHON) manage.py serve --host $(HOST) --port $(PORT)

setup: $(VENV)/installed

test: needs check
	@$(PYTHON) manage.py fetch_model
	@rm -f $(SECOND_TRIES); status=0; export SECOND_TRIES=$(SECOND_TRIES); \
	$(PYTHON) -m pytest -q -n 4 --dist loadfile --no-loadscope-reorder -m "not browser and not long" || status=1; \
	$(PYTHON) -m tests.servers postgres $(PYTHON) -m pytest -q -n 2 -m "not once and not long" $(ON_POSTGRESQL) || status=1; \
	$(PYTHON) -m pytest -q -n 2 -m "browser and not long" tests/journeys || status=1; \
	$(PYTHON) -m tests.needs report; \
	cat $(SECOND_TRIES) 2> /dev/null; exit $$status

# The servers and the browser that tests use: installed where that needs no password, else told after the tests.
needs: $(VENV)/installed-dev
	@$(PYTHON) -m tests.needs install

check: docs
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check --quiet .
	@$(VENV)/bin/lint-imports --no-cache > $(VENV)/imports.log || { cat $(VENV)/imports.log; exit 1; }
	@$(VENV)/bin/djlint templates --lint --quiet > $(VENV)/templates.log 2>&1 || { cat $(VENV)/templates.log; exit 1; }
	@$(VENV)/bin/oxlint --quiet --report-unused-disable-directives-severity error static > $(VENV)/scripts.log || { cat $(VENV)/scripts.log; exit 1; }
	@$(VENV)/bin/mypy --no-error-summary --strict compression/core
	@$(VENV)/bin/mypy -n 2 --no-error-summary chatsite conversations compression
	@$(PYTHON) manage.py makemigrations --check --dry-run > /dev/null

# The documentation as a site, in var/docs; a link that leads nowhere is an error.
docs: $(VENV)/installed-dev
	@NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --strict > $(VENV)/docs.log 2>&1 || { cat $(VENV)/docs.log; exit 1; }

bench: $(VENV)/installed-dev
	@missed=0; for part in compaction stages parts ledger context live gateway clients programs agents artefacts economy documents; do \
		$(PYTHON) -m benchmarks.$$part || missed=1; \
	done; exit $$missed

bench-load: needs
	@$(PYTHON) -m tests.needs require postgresql redis
	@$(PYTHON) -m benchmarks.load

bench-memory: $(VENV)/installed-dev var/peers/installed
	@$(PYTHON) -m benchmarks.memory
	@$(PYTHON) -m benchmarks.languages

bench-retention: $(VENV)/installed-bench
	@$(PYTHON) -m benchmarks.retention

torture: needs
	@$(PYTHON) -m tests.needs require postgresql redis
	@$(PYTHON) -m tests.core.torture --count 10000
	@PAIRS=all LARGEST=64000 $(PYTHON) -m pytest -q --timeout=0 -n 2 tests/core/test_readers.py
	@LARGEST=640000 $(PYTHON) -m pytest -q --timeout=0 tests/core/test_readers.py
	@IN_A_ROW=60 $(PYTHON) -m pytest -q --timeout=0 tests/core/test_strategies.py
	@LIVES=300 $(PYTHON) -m pytest -q -s --timeout=0 tests/faults/test_life.py
	@LIVES=1000 $(PYTHON) -m pytest -q -s --timeout=0 tests/faults/test_life_on_a_page.py
	@EVERY_ORDER=1 $(PYTHON) -m pytest -q --timeout=0 tests/conversations/instructions/test_ledger_attempts.py
	@GROWTH=whole $(PYTHON) -m pytest -q --timeout=0 -n 2 tests/conversations/site/test_growth.py
	@$(PYTHON) -m pytest -q -n 2 -m "long and not browser"
	@$(PYTHON) -m pytest -q -n 2 -m "long and browser" tests/journeys
	@EVERY_LOOK=1 $(PYTHON) -m pytest -q --timeout=0 tests/journeys/test_accessibility.py
	@PAGES=50 RECONNECTS=20 $(PYTHON) -m pytest -q --timeout=0 tests/journeys/test_reconnects.py
	@SCHEMA_CASES=200 $(PYTHON) -m pytest -q -s --timeout=0 tests/faults/test_schema.py
	@KILLS_EVERY=1 $(PYTHON) -m pytest -q --timeout=0 tests/conversations/ops/test_releases.py tests/faults/test_killed_saves.py
	@FAULTY_TURNS=500 $(PYTHON) -m pytest -q --timeout=0 tests/conversations/turns/test_mixed_faults.py
	@FUZZ_CASES=2000 $(PYTHON) -m pytest -q -n 2 --timeout=0 tests/fuzzing
	@$(PYTHON) -m tests.torture.expressions
	@$(PYTHON) -m tests.torture.attacks
	@$(PYTHON) -m tests.torture.floods
	@$(PYTHON) -m tests.torture
	@$(PYTHON) -m benchmarks.load soak

# A wheel with all that the site needs, in dist/.
wheel: $(VENV)/installed-dev
	@$(PYTHON) -m hatchling build -t wheel -d dist

lock:
	@uv pip compile -q pyproject.toml --universal --python-version 3.12 --generate-hashes --no-emit-index-url \
		--no-annotate --no-header -o requirements.lock
	@uv pip compile -q pyproject.toml --group dev -c requirements.lock --universal --python-version 3.12 \
		--generate-hashes --no-emit-index-url --no-annotate --no-header -o requirements-dev.lock
	@uv pip compile -q --group bench -c requirements.lock --universal --python-version 3.12 --generate-hashes \
		--no-emit-index-url --no-annotate --no-header -o requirements-bench.lock
	@uv pip compile -q --group builtin --no-deps --universal --python-version 3.12 --generate-hashes \
		--no-emit-index-url --no-annotate --no-header -o requirements-builtin.lock

clean:
	rm -rf $(VENV)

$(VENV)/installed: requirements.lock | $(PYTHON)
	@echo "Installing the packages of requirements.lock ..."
	@$(PYTHON) -m pip install $(PIP_HOW) -r requirements.lock
	@touch $@

$(VENV)/installed-dev: requirements-dev.lock $(VENV)/installed
	@echo "Installing the packages of requirements-dev.lock ..."
	@$(PYTHON) -m pip install $(PIP_HOW) -r requirements-dev.lock
	@touch $@

$(VENV)/installed-bench: requirements-bench.lock $(VENV)/installed
	@echo "Installing the packages of requirements-bench.lock ..."
	@$(PYTHON) -m pip install $(PIP_HOW) -r requirements-bench.lock
	@touch $@

# LangChain, to live the same chats beside this product, in an environment of its own.
var/peers/installed: | $(PYTHON)
	@echo "Installing LangChain, LlamaIndex and rank-bm25 into var/peers ..."
	@mkdir -p var && $(PYTHON) -m venv var/peers
	@var/peers/bin/pip install -q langchain==1.4.7 llama-index-core==0.14.25 wordllama==0.4.0.post1 rank-bm25==0.2.2
	@touch $@

# The first Python that is new enough; a name on the PATH may be a shim that answers with an error.
$(PYTHON):
	@for name in python3.14 python3.13 python3.12 python3; do \
		if "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2> /dev/null; then \
			echo "Making $(VENV) with $$name ..."; exec "$$name" -m venv $(VENV); \
		fi; \
	done; \
	echo "chatsite needs Python 3.12 or newer, with its venv module; none was found on the PATH." >&2; \
	echo "Install one (for example: apt install python3.13 python3.13-venv) and run make again." >&2; exit 1
