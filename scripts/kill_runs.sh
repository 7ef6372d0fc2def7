#!/usr/bin/env bash
# Kills a training run with SIGKILL at random moments, again and again, and continues from its checkpoints:
# each time a rank, the launcher or mtfc itself. A run that completes must have the weights of an undisturbed
# one, bit for bit, and leave nothing unfinished.
#   scripts/kill_runs.sh [KILLS [MTFC [SEED]]]     default: 50 kills of build/mtfc, with a seed from the clock
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
kills=${1:-50}
mtfc=$(realpath "${2:-$root/build/mtfc}")
RANDOM=${3:-$(($(date +%s) % 32768))}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

run() {
  exec "$mtfc" run "$root/models/char_lm.json" -q --set layers=2 --set d_model=64 --set d_ff=512 --set length=32 \
    --set batch=8 --set dropout=0.1 --set warmup=3 --set steps=30 --steps 30 --seed 7 \
    --input "tokens=text:$root/README.md" --input "targets=text:$root/README.md,shift=1" \
    --mesh rows:2 --layout batch:rows --threads 1 "$@"
}
children() { cat /proc/"$1"/task/"$1"/children 2>/dev/null || true; }
# Chooses one process of the run that $1 has started, and its kind: mtfc itself, mpiexec, or a rank under
# mpiexec's proxy.
victim() {
  local all=("$1 mtfc") launcher proxy rank
  for launcher in $(children "$1"); do
    all+=("$launcher mpiexec")
    for proxy in $(children "$launcher"); do
      for rank in $(children "$proxy"); do all+=("$rank rank"); done
    done
  done
  echo "${all[RANDOM % ${#all[@]}]}"
}

start=$(date +%s%N)
(run --checkpoint whole --metrics whole.jsonl --every 1)
length=$((($(date +%s%N) - start) / 1000000))

killed=0 ended=0 unfinished=0
declare -A victims=()
while [ "$killed" -lt "$kills" ]; do
  (run --checkpoint killed --metrics killed.jsonl --every 1 --resume) 2>said &
  pid=$!
  sleep "$(printf '%d.%03d' $((delay = 20 + RANDOM * 32768 % length, delay / 1000)) $((delay % 1000)))"
  read -r target name < <(victim $pid)
  kill -9 "$target" 2>/dev/null || name=gone
  code=0
  wait $pid 2>/dev/null || code=$?
  # A run may have ended by itself before it was hit.
  if [ "$code" -ne 0 ]; then
    killed=$((killed + 1))
    victims[$name]=$((${victims[$name]:-0} + 1))
    compgen -G 'killed/*.part' >/dev/null && unfinished=$((unfinished + 1))
    if [ "$name" = gone ]; then
      cat said
      echo "a run failed that was not killed"
      exit 1
    fi
    continue
  fi
  for last in variables.safetensors checkpoint.json; do
    cmp "whole/step_00000030/$last" "killed/step_00000030/$last"
  done
  cmp <(cut -d, -f1-4 whole.jsonl) <(cut -d, -f1-4 killed.jsonl)
  [ "$(ls -A killed | wc -l)" -eq 30 ]
  ended=$((ended + 1))
  rm -rf killed killed.jsonl
done
(run --checkpoint killed --metrics killed.jsonl --every 1 --resume)
cmp whole/step_00000030/variables.safetensors killed/step_00000030/variables.safetensors
cmp <(cut -d, -f1-4 whole.jsonl) <(cut -d, -f1-4 killed.jsonl)
for name in "${!victims[@]}"; do echo "$name killed: ${victims[$name]}"; done
echo "$killed kills, $unfinished while a checkpoint was written; $((ended + 1)) runs ended, all with the same weights"
