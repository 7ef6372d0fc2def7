#!/usr/bin/env bash
# Tries models, layouts, saved programs, data files, files of weights and options with mistakes: in one process, then
# through the program itself. Failing inputs are left in the current folder.
#   scripts/fuzz_inputs.sh [CASES [SEED [FOLDER [PROGRAM_CASES]]]]
# Defaults: 100000 cases, a seed from the clock, build, and 1000 cases of each kind through the program.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

cases=${1:-100000}
seed=${2:-$(date +%s)000000}
folder=$(realpath -m "${3:-$root/build}")
program_cases=${4:-1000}
if [ ! -f "$folder/build.ninja" ]; then
  cmake -S "$root" -B "$folder" -G Ninja >/dev/null
fi
cmake --build "$folder" --target formats_tests mtfc
for test in input_fuzz program_fuzz data_fuzz option_fuzz; do
  MTFC_CASES=$cases MTFC_SEED=$seed "$folder/formats_tests" --source-file="*${test}_test.cpp"
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/models" "$scratch/programs" "$scratch/data"
for kind in models:input_fuzz programs:program_fuzz data:data_fuzz; do
  MTFC_CASES=$program_cases MTFC_SEED=$seed MTFC_DUMP=$scratch/${kind%:*} \
    "$folder/formats_tests" --source-file="*${kind#*:}_test.cpp" >/dev/null
done

failures=0
declare -A codes=()
# expect CODES FILE COMMAND...: runs the command, which must end in time with one of the codes.
expect() {
  local allowed=$1 file=$2 code=0
  shift 2
  (ulimit -v 4000000; exec timeout 20 "$@") >/dev/null 2>"$scratch/said" </dev/null || code=$?
  codes[$code]=$((${codes[$code]:-0} + 1))
  if [[ " $allowed " != *" $code "* ]]; then
    failures=$((failures + 1))
    cp "$file" .
    echo "exit $code for $(basename "$file"): $*"
    tail -n 3 "$scratch/said"
  fi
}
for model in "$scratch"/models/*[0-9].json; do
  layout=(--mesh "p:2,q:3")
  [ -f "${model%.json}.layout.json" ] && layout=(--layout "${model%.json}.layout.json")
  expect "0 2" "$model" "$folder/mtfc" check "$model"
  expect "0 2" "$model" "$folder/mtfc" compile "$model"
  expect "0 2" "$model" "$folder/mtfc" compile "$model" "${layout[@]}" --emit json
done
# A mutated program may need data, more memory than there is, or more devices than --simulate can hold.
for program in "$scratch"/programs/*.json; do
  expect "0 1 2" "$program" "$folder/mtfc" cost-report "$program"
  # A changed condition may hold forever.
  ends="0 1 2"
  grep -q '"kind":"leave"' "$program" && ends="0 1 2 124"
  expect "$ends" "$program" "$folder/mtfc" run --simulate "$program"
done
for file in "$scratch"/data/*; do
  source=$file
  if [[ $file == *.safetensors ]]; then
    expect "0 1" "$file" "$folder/mtfc" run "$root/testdata/fuzz_input/weights.json" -q --load "$file"
    continue
  fi
  case $file in *.idx) source=idx:$file ;; *.txt | *.bin) continue ;; esac
  expect "0 1" "$file" "$folder/mtfc" run "$root/testdata/fuzz_input/model.json" -q --input "x=$source"
done
for code in "${!codes[@]}"; do echo "exit $code: ${codes[$code]} runs"; done
echo "seed $seed: $failures failures through the program"
[ "$failures" -eq 0 ]
