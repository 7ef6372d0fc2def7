#!/usr/bin/env bash
# Builds mtfc and runs all its commands on random models under random layouts, legal or not: each must end with the exit
# code 0, 1 or 2.
#   scripts/fuzz_commands.sh [PAIRS [SEED [FOLDER]]]     default: 1000 pairs, a seed from the clock, build
# MTFC_TRIED names a binary to try in place of FOLDER/mtfc, such as that of a build with -DMTFC_SANITIZE=address.
set -euo pipefail

MTFC_FUZZED='*random_commands_test.cpp' MTFC_FUZZED_IN=cmd \
  exec "$(dirname "$0")/fuzz_layouts.sh" "${1:-1000}" "${@:2}"
