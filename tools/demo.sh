#!/usr/bin/env bash
# The main job on a small example: ratings of two systems, both models on them, then a power study with R's clmm and
# lmer on two cores, its table, its store and its picture, all in demo/. R's clmm starts at the native engine's optimum,
# which makes it three times faster; R still computes all it reports.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p demo
run() {
  printf '\n$ ordbridge %s\n' "$*"
  .venv/bin/ordbridge "$@"
}
MAXIMAL="rating ~ system + (system | participant) + (system | item)"

run simulate --preset howcroft2021 --variance low --effect 0.62 --items 30 --ratings 3 --seed 1 --out demo/ratings.csv
run fit demo/ratings.csv --model clmm --formula "$MAXIMAL" --link probit
run fit demo/ratings.csv --model lmer --formula "$MAXIMAL" --no-REML
run power --preset howcroft2021 --variance low --items 20 --ratings 3 --effects 0 0.31 0.62 --models lmer clmm \
  --start fast --datasets 6 --seed 1 --jobs 2 --store demo/power --plot demo/power.png
printf '\nleft in demo/: ratings.csv, power/ (the store; the same command goes on from it), power.png\n'
