#!/usr/bin/env bash
# What the tests of pages need: Chromium and LaTeX from apt, as root, and axe-core from npm; where one of them is missing,
# the tests that need it are skipped and say so.
set -euo pipefail
cd "$(dirname "$0")/.."
AXE=4.10.3

wanted=()
command -v chromium >/dev/null || wanted+=(chromium)
command -v pdflatex >/dev/null || wanted+=(texlive-latex-base texlive-latex-recommended texlive-fonts-recommended lmodern)
if [ ${#wanted[@]} -gt 0 ] && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
  echo "installing with apt: ${wanted[*]}" >&2
  apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${wanted[@]}" >&2 ||
    echo "${wanted[*]} could not be installed: the tests that need them are skipped" >&2
fi
if [ ! -d .venv/axe ] && command -v npm >/dev/null; then
  npm install --silent --no-audit --no-fund --prefix .venv/axe "axe-core@$AXE" >&2 ||
    echo "axe-core could not be installed: the tests of accessibility are skipped" >&2
fi
