#!/usr/bin/env bash
# Sets up and runs every test, in a release build and in one with address and undefined-behaviour sanitizers.
#   scripts/test.sh [--quick]      --quick leaves out the sanitizers
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_packages.sh clang-format iproute2 iptables libnetfilter-queue-dev openssh-client dropbear-bin slurm-wlm munge zsh fish groff-base
sanitized=
if [ "${1:-}" != "--quick" ]; then
  cmake -S . -B build-sanitize -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-Og -g1" \
    -DMTFC_SANITIZE=address,undefined >/dev/null
  cmake --build build-sanitize --target core_tests formats_tests runtime_tests
  sanitized=$PWD/build-sanitize
fi
scripts/build.sh build -DMTFC_SANITIZED_TESTS="$sanitized"
cmake --build build --target tests
# One test more than there are cores, because some tests wait for hosts, daemons and timers.
ctest --test-dir build --output-on-failure -j "$(($(nproc) + 1))"
