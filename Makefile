# make demo and make test install what is missing first; both are quick when everything is there.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test docs install clean

install: .venv/.ready

.venv/.ready: pyproject.toml tools/install.sh
	@PYTHON="$(PYTHON)" bash tools/install.sh

demo: .venv/.ready
	@bash tools/demo.sh

test: .venv/.ready
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
