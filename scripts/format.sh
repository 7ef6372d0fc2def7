#!/usr/bin/env bash
# Formats the source with .clang-format.
#   scripts/format.sh [--check]      --check changes nothing and fails if a file is formatted otherwise
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_packages.sh clang-format
mode=-i
[ "${1:-}" != "--check" ] || mode="--dry-run -Werror"
# shellcheck disable=SC2086
find core formats runtime cmd scripts -name '*.h' -o -name '*.cpp' | xargs clang-format $mode
[ "$mode" = "-i" ] || echo "formatting holds"
