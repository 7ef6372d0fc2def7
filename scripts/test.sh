#!/usr/bin/env bash
# Sets up and runs every test: the release build, then the sanitizer build, then the scripts.
#   scripts/test.sh [--quick]      --quick leaves the sanitizer build out
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/build.sh build
sanitize=1
[ "${1:-}" = "--quick" ] && sanitize=0
if [ "$sanitize" -eq 1 ]; then
  scripts/build.sh build-sanitize -DCMAKE_BUILD_TYPE=RelWithDebInfo -DMTFC_SANITIZE=address,undefined
  # One list of tests, so that one closing line counts them all.
  export MTFC_SANITIZE_BUILD=build-sanitize
fi
cmake -S . -B build -DMTFC_SANITIZED_TESTS="$([ "$sanitize" -eq 1 ] && echo "$PWD/build-sanitize")" >/dev/null
ctest --test-dir build --output-on-failure -j "$(nproc)"
