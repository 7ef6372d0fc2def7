#!/usr/bin/env bash
# Builds and runs every operation under every layout of more meshes than the tests do, and then random graphs under random
# layouts; prints the smallest case that still fails.
#   scripts/fuzz_layouts.sh [CASES [SEED [FOLDER]]]     default: 100000 cases, a seed from the clock, build
# Other scripts name other tests with random cases: MTFC_FUZZED is a pattern of their files, and MTFC_FUZZED_IN the module.
set -euo pipefail
cd "$(dirname "$0")/.."

cases=${1:-100000}
seed=${2:-$(date +%s)000000}
folder=${3:-build}
tests=${MTFC_FUZZED_IN:-runtime}_tests
if [ ! -f "$folder/build.ninja" ]; then
  cmake -S . -B "$folder" -G Ninja >/dev/null
fi
cmake --build "$folder" --target "$tests"
if [ -z "${MTFC_FUZZED:-}" ]; then
  MTFC_ALL_MESHES=1 "$folder/$tests" --source-file='*every_layout_test.cpp'
fi
MTFC_CASES=$cases MTFC_SEED=$seed OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} \
  "$folder/$tests" --source-file="${MTFC_FUZZED:-*random_graph_test.cpp}"
