#!/usr/bin/env bash
# Writes expected.txt of every folder testdata/passes/PASS/CASE/ anew, from what the passes make now. Look at the
# difference (git diff testdata/passes) before you commit it: it says what your change does.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_packages.sh
cmake -S . -B build -G Ninja -DMTFC_SANITIZED_TESTS= >/dev/null  # which would leave this test to another build
cmake --build build --target formats_tests
MTFC_UPDATE_PASS_CASES=1 build/formats_tests --source-file='*pass_cases_test.cpp'
git status --short testdata/passes
