#!/usr/bin/env bash
# Makes each system call fail, one after the other, with which a run opens, maps, writes, syncs, renames and removes
# files of its checkpoints. After each failure, the run must have ended with exit code 1 and one line, all checkpoints
# must be whole, and the next run must go on to the weights of an undisturbed one and leave nothing else behind.
#   scripts/fail_calls.sh LIBRARY [STRIDE [MTFC]]   LIBRARY is build/libfailing_calls.so, from `ninja tests`. With a
#                                                   STRIDE of 4, one process that continues fails at every call, and
#                                                   other runs at every fourth (default: 1).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
library=$(realpath "$1")
stride=${2:-1}
mtfc=$(realpath "${3:-$root/build/mtfc}")
scratch=$(realpath "$(mktemp -d)")
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

# All numbers are exact, so that every layout gives the same bits.
cat >model.json <<'MODEL'
{"mtfc": 1, "name": "exact", "params": {"rate": 1}, "dims": {"batch": 2, "in": 4},
 "inputs": {"x": {"dims": ["batch", "in"]}},
 "variables": {"v": {"dims": ["in"], "init": 1}, "w": {"dims": ["in"], "init": 0}},
 "ops": [{"out": "loss", "op": "reduce_sum", "in": {"op": "mul", "in": ["x", {"op": "add", "in": ["v", "w"]}]}}],
 "train": {"loss": "loss", "optimizer": {"kind": "sgd", "lr": "rate"}}}
MODEL
all=(run model.json -q --input "x=random:int,lo=0,hi=9" --every 1)
base=("${all[@]}" --keep 2)
first=("${base[@]}" --set rate=0.5)  # later runs have it from the checkpoint
"$mtfc" "${first[@]}" --steps 2 --checkpoint before
"$mtfc" "${all[@]}" --set rate=0.5 --steps 4 --checkpoint whole

wrong() {
  echo "call $number of $what ($(cat log)): $1" >&2
  cat said >&2
  ls -R ck >&2
  exit 1
}
# Every folder with the name of a checkpoint must be that of the undisturbed run.
check_checkpoints() {
  local folder
  for folder in ck/step_????????; do
    [ -e "$folder" ] || continue
    diff -r "$folder" "whole/${folder#ck/}" >/dev/null || wrong "'$folder' is not what it should be"
  done
}

# Runs a command with call `number` failing, once for each number, until there is no such call.
#   walk WHAT STRIDE LEAST END COMMAND...   LEAST: the last checkpoint before the run, or none; END: the one that it makes
walk() {
  local step=$2 least=$3 end=$4 code spared=0
  what=$1
  shift 4
  for ((number = 1; ; number += step)); do
    rm -rf ck log said
    [ "$least" = none ] || cp -r before ck
    code=0
    MTFC_FAIL_FOLDER="$scratch/ck" MTFC_FAIL_LOG="$scratch/log" MTFC_FAIL_NUMBER=$number LD_PRELOAD=$library \
      timeout 60 "$@" 2>said || code=$?
    if ! [ -s log ]; then
      [ "$code" -eq 0 ] || wrong "the run has failed by itself"
      break
    fi
    if [ "$code" -eq 0 ]; then  # the call was of no consequence, such as the removal of what is not there
      [ -e "ck/$end" ] && [ ! -s said ] || wrong "the run has not done its work"
      spared=$((spared + 1))
    else
      [ "$code" -eq 1 ] || wrong "exit code $code"
      [ "$(wc -l <said)" -eq 1 ] && grep -q '^mtfc: error: ' said || wrong "not one line"
    fi
    check_checkpoints
    [ "$least" = none ] || [ -e "ck/$least" ] || wrong "the checkpoint before is gone"
    "$mtfc" "${base[@]}" $again --steps 4 --checkpoint ck --resume 2>said || wrong "the next run has failed"
    check_checkpoints
    [ "$(ls ck | tr '\n' ' ')" = "step_00000003 step_00000004 " ] || wrong "another file is left"
  done
  echo "$what: $(((number - 1) / step)) calls, $spared of no consequence"
}

again=
walk "a run that continues" 1 step_00000002 step_00000003 "$mtfc" "${base[@]}" --steps 3 --checkpoint ck --resume
again="--set rate=0.5"
walk "a run that begins" "$stride" none step_00000001 "$mtfc" "${first[@]}" --steps 1 --checkpoint ck
again=
for rank in 0 1; do
  export MTFC_FAIL_RANK=$rank
  walk "rank $rank of two" "$stride" step_00000002 step_00000003 \
    mpiexec.mpich -n 2 "$mtfc" "${base[@]}" --steps 3 --checkpoint ck --resume --mesh all:2 --layout in:all
done
