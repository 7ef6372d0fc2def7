#!/usr/bin/env bash
# Builds and runs random graphs under random layouts; prints the smallest case that still fails.
#   scripts/fuzz_layouts.sh [CASES [SEED [FOLDER]]]     default: 100000 cases, a seed from the clock, build
set -euo pipefail
cd "$(dirname "$0")/.."

cases=${1:-100000}
seed=${2:-$(date +%s)000000}
folder=${3:-build}
if [ ! -f "$folder/build.ninja" ]; then
  cmake -S . -B "$folder" -G Ninja >/dev/null
fi
cmake --build "$folder" --target runtime_tests
MTFC_CASES=$cases MTFC_SEED=$seed OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} \
  "$folder/runtime_tests" --source-file="${MTFC_FUZZED:-*random_graph_test.cpp}"
