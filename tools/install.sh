#!/usr/bin/env bash
# Install what is missing: R and its packages, a C++ compiler with Python's headers (apt, as root), then what running needs
# into .venv. With the word `dev`, also developers' tools, and those that check the code into .venv/checks.
# One line per step, with the seconds so far. Where a step cannot be done here, say the exact command that does it.
set -euo pipefail
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
R_DEBS="r-base-core r-cran-ordinal r-cran-lmertest r-cran-emmeans r-cran-pbkrtest"

DEV=${1:-}
LOG=$(mktemp)
trap 'rm -f "$LOG"' EXIT

say() { printf '%s\n' "$*" >&2; }

step() { printf '[%3d s] %s\n' "$SECONDS" "$*" >&2; }

# quietly COMMAND ...: what it prints is shown only if it fails
quietly() {
  if ! "$@" >"$LOG" 2>&1; then
    cat "$LOG" >&2
    return 1
  fi
}

step "looking for Python, R and a compiler"

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
  if [ -z "${APT_UPDATED:-}" ]; then
    step "apt: reading the list of packages"
    quietly apt-get update -qq
    APT_UPDATED=1
  fi
  step "apt: installing $*"
  quietly env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}

r_is_ready() {
  command -v Rscript >/dev/null &&
    Rscript --vanilla -e 'for (p in c("ordinal", "lmerTest", "emmeans", "pbkrtest")) loadNamespace(p)' >/dev/null 2>&1
}

if ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  say "Python 3.11 or later is needed; name one with: make PYTHON=/path/to/python3.11 …"
  exit 1
fi

has_headers() {
  "$PYTHON" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))'
}

has_compiler() { command -v "${CXX:-c++}" >/dev/null && has_headers; }

if ! r_is_ready; then
  can_apt || how_to_install_r
  BESIDE=  # one run of apt for all
  has_compiler || BESIDE="g++ python3-dev python3-venv"
  # shellcheck disable=SC2086  # a list of packages
  apt_install $R_DEBS $BESIDE || how_to_install_r
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

if ! has_compiler; then
  if can_apt; then apt_install g++ python3-dev; fi
  if ! has_compiler; then
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
  quietly "$python" -m pip install --quiet --disable-pip-version-check "$@"
}

if [ "$DEV" = dev ]; then LOCK=dev EXTRA='[dev]' WHAT="what running and developing needs"; else LOCK=runtime EXTRA='' WHAT="what running needs"; fi
if is_locked; then
  step "pip: what building needs"
  into .venv --require-hashes --requirement tools/locks/build.txt
  step "pip: $WHAT ($(grep -c '^[a-z].*==' tools/locks/$LOCK.txt) packages, locked)"
  into .venv --require-hashes --no-build-isolation --requirement tools/locks/$LOCK.txt
  step "compiling the fast engine"
  into .venv --no-deps --no-build-isolation --editable .
else
  step "pip: $WHAT, in the newest versions, because the lock files are not for this Python; then compiling"
  into .venv --editable ".$EXTRA"
fi
if [ "$DEV" = dev ]; then
  step "pip: tools that check the code"
  "$PYTHON" -m venv .venv/checks  # which must not depend on what else is installed, such as the types of the newest numpy
  if is_locked; then
    into .venv/checks --require-hashes --requirement tools/locks/checks.txt
  else
    into .venv/checks --requirement tools/checks.txt
  fi
  ln -sf ../checks/bin/ruff ../checks/bin/mypy .venv/bin/
fi
step "checking the installation"
.venv/bin/ordbridge doctor >"$LOG" || { cat "$LOG"; exit 1; }
[ "$DEV" != dev ] || touch .venv/.dev
touch .venv/.ready
step "installed"
