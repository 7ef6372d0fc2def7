#!/usr/bin/env bash
# Sets up and runs every test, in a release build and, where they can find something there, in one with address and
# undefined-behaviour sanitizers.
#   scripts/test.sh [--quick|--full]      --quick leaves out the sanitizers; --full has them in the compiler (core), too
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_packages.sh ccache clang-format iproute2 iptables libnetfilter-queue-dev openssh-client dropbear-bin slurm-wlm munge zsh fish groff-base \
  python3-numpy nodejs
sanitized= whole=OFF release=$PWD/build
[ "${1:-}" = "--quick" ] || sanitized=$PWD/build-sanitize
[ "${1:-}" != "--full" ] || whole=ON release=
scripts/build.sh build -DMTFC_SANITIZED_TESTS="$sanitized" -DMTFC_SANITIZED_CORE=$whole
cmake --build build --target tests
if [ "$sanitized" ]; then
  cmake -S . -B "$sanitized" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-Og -g1" \
    -DMTFC_SANITIZE=address,undefined -DMTFC_RELEASE="$release" >/dev/null
  cmake --build "$sanitized" --target formats_tests runtime_tests $([ $whole = OFF ] || echo core_tests)
fi
# Tests may lack nothing (core/testing/skip.h), except for the data beside the checkout, and what takes the rights to make
# namespaces.
lacks=
[ -d ../shared ] || lacks+=,digits
unshare -mnu true 2>/dev/null || lacks+=,namespaces,hosts,slurm,root
export MTFC_REQUIRE_ALL=1 MTFC_MAY_LACK=$lacks
# One test more than there are cores, because some tests wait for hosts, daemons and timers.
ctest --test-dir build --output-on-failure -j "$(($(nproc) + 1))"
