# make demo and make test install what is missing first; both are quick when everything is there.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test install clean

install: .venv/.ready

.venv/.ready: pyproject.toml tools/install.sh
	@PYTHON="$(PYTHON)" bash tools/install.sh

demo: .venv/.ready
	@bash tools/demo.sh

test: .venv/.ready
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 --dist worksteal

clean:
	rm -rf .venv demo dist build
