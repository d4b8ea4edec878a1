# make demo and make test install what is missing first; both are quick when everything is there.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: app demo test quick docs install clean

install: .venv/.ready

# what is compiled is part of the installation
CORE := $(wildcard src/core/*)

.venv/.ready: pyproject.toml tools/install.sh $(wildcard tools/locks/*.txt) tools/checks.txt $(CORE)
	@PYTHON="$(PYTHON)" bash tools/install.sh

demo: .venv/.ready
	@bash tools/demo.sh

# the page to drop a file on
app: .venv/.ready
	@$(BIN)/ordbridge app

# no R and nothing slow: to run as often as you save
quick: .venv/.ready
	$(BIN)/python -m pytest tests -q -n 2 -m "not needs_r and not slow"

test: .venv/.ready
	@bash tools/browser.sh
	$(BIN)/ruff check src tests benchmarks tools
	$(BIN)/ruff format --check src tests benchmarks tools
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 --dist worksteal

# the tests build it, too, where mkdocs is there
docs: .venv/.ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "read site/index.html"

clean:
	rm -rf .venv demo dist build site
