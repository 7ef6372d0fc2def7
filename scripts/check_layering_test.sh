#!/usr/bin/env bash
# Checks that scripts/check_layering.sh fails for includes that the rooms forbid: each is planted in a copy.
set -euo pipefail
cd "$(dirname "$0")/.."

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r core formats runtime cmd scripts "$copy"
failed=0

# plant FILE INCLUDED EXPECTED: the check must fail and print EXPECTED
plant() {
  local file=$copy/$1 said
  cp "$file" "$copy/kept"
  sed -i "1i #include $2" "$file"
  if said=$("$copy/scripts/check_layering.sh"); then
    echo "$1 may include $2 unnoticed"
    failed=1
  elif ! grep -qF "$3" <<<"$said"; then
    printf '%s including %s is reported otherwise than "%s":\n%s\n' "$1" "$2" "$3" "$said"
    failed=1
  fi
  cp "$copy/kept" "$file"
}

"$copy/scripts/check_layering.sh"
plant core/tensors/mesh.h '"core/graph/graph.h"' \
  'core/tensors/mesh.h:1: core/tensors/ may not include core/graph/graph.h (scripts/rooms.txt allows it core/diagnostics)'
plant runtime/kernels/gather.cpp '"runtime/comm/comm.h"' 'runtime/kernels/ may not include runtime/comm/comm.h'
plant formats/text/quantity.h '"runtime/memory/arena.h"' 'formats/ may not include runtime/memory/arena.h'
plant core/tests/ops_test.cpp '"runtime/memory/arena.h"' 'core/ may not include runtime/memory/arena.h'
plant runtime/execute/executor.cpp '"runtime/testing/interpreter.h"' 'may not include test code'
plant runtime/execute/executor.cpp '<mpi.h>' 'only runtime/comm/mpi and runtime/processes may include <mpi.h>'
plant core/ops/gather.cpp '<fstream>' 'may include <fstream>'
plant cmd/run.cpp '<CLI/CLI.hpp>' 'only cmd/options/command_line.cpp may include <CLI/'
mkdir "$copy/core/attic"
mv "$copy/core/model/training.h" "$copy/core/attic/"
if "$copy/scripts/check_layering.sh" >"$copy/said" || ! grep -q 'core/attic/ has no row' "$copy/said"; then
  echo "a folder without a row goes unnoticed"
  failed=1
fi
[ "$failed" -eq 0 ] && echo "planted edges are found"
exit "$failed"
