#!/usr/bin/env bash
# The main job on a small example: ratings of two systems, both models, both tables.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p demo
run() { printf '\n$ ordbridge %s\n' "$*"; .venv/bin/ordbridge "$@"; }
