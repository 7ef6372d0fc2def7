#!/usr/bin/env bash
# Builds and runs random convolutions and pools, with their gradients, under random layouts, and then a tenth as many with
# gradients of gradients.
#   scripts/fuzz_windows.sh [CASES [SEED [FOLDER]]]     default: 20000 cases, a seed from the clock, build
set -euo pipefail

MTFC_FUZZED='*runtime/tests/window_test.cpp' exec "$(dirname "$0")/fuzz_layouts.sh" "${1:-20000}" "${@:2}"
