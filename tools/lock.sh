#!/usr/bin/env bash
# Write the lock files: every package in one version, with the hashes of its files, for all platforms and the Pythons below.
# They name no index, so that any mirror serves. Needs uv: pip install uv. What is locked already stays as it is, unless it is
# named: tools/lock.sh --upgrade, or --upgrade-package NAME.
set -euo pipefail
cd "$(dirname "$0")/.."
PYTHONS="3.11 3.12 3.13 3.14"  # for which all packages have wheels, or can be built

lock() {
  file=tools/locks/$1.txt
  shift
  body=$(mktemp)
  [ ! -f "$file" ] || cp "$file" "$body"
  uv pip compile "$@" --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header \
    --quiet --output-file "$body" >/dev/null
  { echo "# Written by tools/lock.sh, for Python $PYTHONS"; grep -v '^#' "$body"; } > "$file"
  rm "$body"
}

upgrade=("$@")
lock dev pyproject.toml --extra dev "${upgrade[@]}"
lock runtime pyproject.toml --constraint tools/locks/dev.txt "${upgrade[@]}"
lock build tools/locks/build.in --constraint tools/locks/dev.txt "${upgrade[@]}"
lock checks tools/checks.txt "${upgrade[@]}"
lock release tools/locks/release.in "${upgrade[@]}"
lock audit tools/locks/audit.in "${upgrade[@]}"
if grep -nE '://|^ *-i|index-url|find-links|file:' tools/locks/*.txt; then
  echo "the lines above name an index" >&2
  exit 1
fi
