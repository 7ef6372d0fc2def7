#!/usr/bin/env bash
# Checks the dependencies between modules: cmd -> {formats, runtime} -> core, and who may use which library.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=0
# forbid FOLDER PATTERN [FILE THAT MAY]...
forbid() {
  local folder=$1 pattern=$2
  shift 2
  local found
  found=$(grep -rnE "^ *# *include *[<\"]($pattern)" "$folder" --include='*.h' --include='*.cpp' |
          grep -vE '_(test|bench)\.cpp:|/(testing|tests)/' || true)
  for allowed in "$@"; do found=$(grep -vE "^$allowed:" <<<"$found" || true); done
  if [ -n "$found" ]; then
    echo "$folder may not include $pattern:"
    echo "$found"
    failed=1
  fi
}
forbid core 'formats/|runtime/|cmd/|mpi\.h|cblas\.h|nlohmann/|zlib\.h|fstream|filesystem|unistd\.h'
forbid formats 'runtime/|cmd/|mpi\.h|cblas\.h'
forbid runtime 'formats/|cmd/|nlohmann/'
forbid runtime 'cblas\.h' 'runtime/compute/blas\.cpp' 'runtime/compute/threads\.cpp'
forbid runtime 'mpi\.h' 'runtime/comm/mpi/comm_mpi\.cpp' 'runtime/processes/processes\.cpp' 'runtime/processes/mpi_calls\.h'
forbid cmd 'mpi\.h|cblas\.h|nlohmann/'
[ "$failed" -eq 0 ] && echo "layering holds"
exit "$failed"
