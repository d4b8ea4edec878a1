#!/usr/bin/env bash
# Chromium for the tests of reports in a browser: apt, as root; elsewhere the tests are skipped and say so.
set -euo pipefail
if command -v chromium >/dev/null || ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then exit 0; fi
echo "installing with apt: chromium" >&2
apt-get update -qq >&2
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >&2 ||
  echo "Chromium could not be installed: the tests in a browser are skipped" >&2
