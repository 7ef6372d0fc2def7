#!/usr/bin/env bash
# Checks the source with clang-tidy and the checks in .clang-tidy; any finding is an error. Takes about ten
# minutes.
#   scripts/tidy.sh [FILE.cpp...]      default: all files
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_packages.sh clang-tidy
folder=build-tidy
cmake -S . -B "$folder" -G Ninja -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DMTFC_BATCHES=OFF >/dev/null  # files come and go
[ $# -gt 0 ] || set -- $(git ls-files '*.cpp')
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 4 clang-tidy -p "$folder" --quiet --extra-arg=-Wno-unknown-warning-option 2>/dev/null
