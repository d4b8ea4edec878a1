# make demo and make test install what is missing first; both are quick when everything is there.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: app demo test quick docs install clean

install: .venv/.dev

# what is compiled is part of the installation
CORE := $(wildcard src/core/*)

NEEDED := pyproject.toml tools/install.sh $(wildcard tools/locks/*.txt) $(CORE)

# what running needs
.venv/.ready: $(NEEDED)
	@PYTHON="$(PYTHON)" bash tools/install.sh

# and developers' tools
.venv/.dev: $(NEEDED) tools/checks.txt
	@PYTHON="$(PYTHON)" bash tools/install.sh dev

demo: .venv/.ready
	@bash tools/demo.sh

# the page to drop a file on
app: .venv/.ready
	@$(BIN)/ordbridge app

# no R and nothing slow: to run as often as you save
quick: .venv/.dev
	$(BIN)/python -m pytest tests -q -n 2 -m "not needs_r and not slow"

test: .venv/.dev
	@bash tools/browser.sh
	$(BIN)/ruff check src tests benchmarks tools
	$(BIN)/ruff format --check src tests benchmarks tools
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 --dist worksteal

# the tests build it, too, where mkdocs is there
docs: .venv/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "read site/index.html"

clean:
	rm -rf .venv demo dist build site
