#!/usr/bin/env bash
# Sets up and builds mtfc: installs missing packages, configures, builds. The release binary is build/mtfc.
# Tests and benchmarks have targets of their own: cmake --build build --target tests, or benchmarks.
#   scripts/build.sh [FOLDER [CMAKE_OPTION...]]     FOLDER defaults to build
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_packages.sh
folder=${1:-build}
shift || true
if [ ! -f "$folder/build.ninja" ] || [ $# -gt 0 ]; then
  cmake -S . -B "$folder" -G Ninja "$@" >/dev/null
fi
cmake --build "$folder"
