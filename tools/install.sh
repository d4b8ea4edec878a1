#!/usr/bin/env bash
# Install what is missing: R and its packages, a C++ compiler with Python's headers (apt, as root), then the Python side into
# .venv, and the tools that check the code into .venv/checks.
# Where a step cannot be done here, say the exact command that does it.
set -euo pipefail
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
R_DEBS="r-base-core r-cran-ordinal r-cran-lmertest r-cran-emmeans r-cran-pbkrtest"

say() { printf '%s\n' "$*" >&2; }

how_to_install_r() {
  say "R with ordinal, lmerTest, emmeans and pbkrtest is needed, and cannot be installed from here. Type one of:"
  say "  Debian, Ubuntu:  sudo apt-get install $R_DEBS"
  say "  conda:           conda env create -f environment.yml && conda activate ordbridge"
  say '  macOS:           brew install r, then in R: install.packages(c("ordinal", "lmerTest", "emmeans", "pbkrtest"))'
  say "and then the same make command again. Without R, all but engine=\"r\" works after: RPY2_CFFI_MODE=ABI pip install ."
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

# rpy2-rinterface 3.6.5, which pyproject.toml pins, runs on R 4.2 to 4.6; later ones need R 4.5.
R_VERSION=$(Rscript --vanilla -e 'cat(as.character(getRversion()))')
if [ "$(printf '%s\n' 4.2 "$R_VERSION" | sort -V | head -n 1)" != 4.2 ]; then
  say "R 4.2 or later is needed, and this is R $R_VERSION; install a newer one:"
  how_to_install_r
fi

if ! "$PYTHON" -m venv .venv 2>/dev/null; then
  rm -rf .venv
  if can_apt; then apt_install python3-venv; else
    say "Python's venv module is missing; type: sudo apt-get install python3-venv"
    exit 1
  fi
  "$PYTHON" -m venv .venv
fi

has_headers() {
  "$PYTHON" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))'
}

if ! command -v "${CXX:-c++}" >/dev/null || ! has_headers; then
  if can_apt; then apt_install g++ python3-dev; fi
  if ! command -v "${CXX:-c++}" >/dev/null || ! has_headers; then
    say "a C++ compiler and the headers of $PYTHON are needed for the fast engine; type one of:"
    say "  Debian, Ubuntu:  sudo apt-get install g++ python3-dev"
    say "  conda:           conda install -c conda-forge cxx-compiler"
    say "  macOS:           xcode-select --install"
    say "and then the same make command again."
    exit 1
  fi
fi

# The lock files of tools/lock.sh have wheels for these; elsewhere pip chooses the versions.
is_locked() {
  "$PYTHON" - <<'PYTHON'
import platform, sys
version = "%d.%d" % sys.version_info[:2]
pythons = open("tools/locks/dev.txt", encoding="utf-8").readline().split()
machine = platform.system(), platform.libc_ver()[0], platform.machine()
machines = ("Linux", "glibc", "x86_64"), ("Linux", "glibc", "aarch64"), ("Darwin", "", "arm64")
sys.exit(version not in pythons or machine not in machines or sys.implementation.name != "cpython")
PYTHON
}

into() {
  python=$1/bin/python
  shift
  "$python" -m pip install --quiet --disable-pip-version-check "$@"
}

"$PYTHON" -m venv .venv/checks  # which must not depend on what else is installed, such as the types of the newest numpy
if is_locked; then
  say "installing the locked Python side into .venv; the fast engine is compiled, which takes about a minute"
  into .venv --require-hashes --requirement tools/locks/build.txt
  into .venv --require-hashes --no-build-isolation --requirement tools/locks/dev.txt
  into .venv --no-deps --no-build-isolation --editable .
  into .venv/checks --require-hashes --requirement tools/locks/checks.txt
else
  say "installing the Python side into .venv, in the newest versions, because the lock files are not for this Python"
  into .venv --editable '.[dev]'
  into .venv/checks --requirement tools/checks.txt
fi
ln -sf ../checks/bin/ruff ../checks/bin/mypy .venv/bin/
.venv/bin/ordbridge doctor >/dev/null || { .venv/bin/ordbridge doctor; exit 1; }
touch .venv/.ready
