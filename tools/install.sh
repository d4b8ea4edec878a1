#!/usr/bin/env bash
# Install what is missing: R and its packages (apt, as root), then the Python side into .venv.
# Where a step cannot be done here, say the exact command that does it.
set -euo pipefail
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
R_DEBS="r-base-core r-cran-ordinal r-cran-lmertest r-cran-emmeans r-cran-pbkrtest"

say() { printf '%s\n' "$*" >&2; }

how_to_install_r() {
  say "R with ordinal, lmerTest, emmeans and pbkrtest is needed and cannot be installed from here. Type one of:"
  say "  Debian, Ubuntu:  sudo apt-get install $R_DEBS"
  say "  conda:           conda env create -f environment.yml && conda activate ordbridge"
  say '  macOS:           brew install r, then in R: install.packages(c("ordinal", "lmerTest", "emmeans", "pbkrtest"))'
  say "and then the same make command again."
  exit 1
}

can_apt() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

apt_install() {
  say "installing with apt: $*"
  if [ -z "${APT_UPDATED:-}" ]; then apt-get update -qq >&2; APT_UPDATED=1; fi
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}

r_is_ready() {
  command -v Rscript >/dev/null &&
    Rscript --vanilla -e 'for (p in c("ordinal", "lmerTest", "emmeans", "pbkrtest")) loadNamespace(p)' >/dev/null 2>&1
}

if ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  say "Python 3.11 or later is needed; name one with: make PYTHON=/path/to/python3.11 …"
  exit 1
fi

if ! r_is_ready; then
  can_apt || how_to_install_r
  # shellcheck disable=SC2086  # a list of packages
  apt_install $R_DEBS || how_to_install_r
  r_is_ready || how_to_install_r
fi

if ! "$PYTHON" -m venv .venv 2>/dev/null; then
  rm -rf .venv
  if can_apt; then apt_install python3-venv; else
    say "Python's venv module is missing; type: sudo apt-get install python3-venv"
    exit 1
  fi
  "$PYTHON" -m venv .venv
fi

say "installing the Python side into .venv"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
.venv/bin/ordbridge doctor >/dev/null || { .venv/bin/ordbridge doctor; exit 1; }
touch .venv/.ready
