#!/usr/bin/env bash
# Ends a training run at random moments, again and again, and continues from its checkpoints: each time a rank, the
# proxy that has started the ranks, mpiexec or mtfc itself gets SIGKILL, SIGTERM or SIGINT. Every run must end soon and
# leave no process. A run that completes must have the weights of an undisturbed one, bit for bit, and leave nothing
# unfinished. At the end the kills must have left no file of MPI in /dev/shm.
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
# The processes of the run that $1 has started, and their kinds: mtfc itself, mpiexec, its proxy, and ranks.
processes() {
  local launcher proxy rank
  echo "$1 mtfc"
  for launcher in $(children "$1"); do
    echo "$launcher mpiexec"
    for proxy in $(children "$launcher"); do
      echo "$proxy proxy"
      for rank in $(children "$proxy"); do echo "$rank rank"; done
    done
  done
}
is_alive() { [ -d "/proc/$1" ] && [ "$(sed 's/.*) \(.\).*/\1/' "/proc/$1/stat" 2>/dev/null)" != Z ]; }
# Waits until process $1 has ended, as long as $2 tenths of a second.
ends_within() {
  local tenth
  for ((tenth = 0; tenth < $2; ++tenth)); do
    is_alive "$1" || return 0
    sleep 0.1
  done
  return 1
}
left_files() { find /dev/shm -maxdepth 1 \( -name 'mpich_shar_tmp*' -o -name 'ucx_shm_posix_*' \) -user "$(id -u)" 2>/dev/null | wc -l; }

start=$(date +%s%N)
(run --checkpoint whole --metrics whole.jsonl --every 1)
length=$((($(date +%s%N) - start) / 1000000))

killed=0 ended=0 unfinished=0
signals=(KILL TERM INT)
declare -A victims=()
while [ "$killed" -lt "$kills" ]; do
  (run --checkpoint killed --metrics killed.jsonl --every 1 --resume) 2>said &
  pid=$!
  sleep "$(printf '%d.%03d' $((delay = 20 + RANDOM * 32768 % length, delay / 1000)) $((delay % 1000)))"
  mapfile -t all < <(processes $pid)
  read -r target name <<<"${all[RANDOM % ${#all[@]}]}"
  signal=${signals[RANDOM % 3]}
  kill -$signal "$target" 2>/dev/null || name=gone
  code=0
  if ! ends_within $pid 600; then
    echo "hung: $signal to $name; the processes that are left:"
    processes $pid
    exit 1
  fi
  wait $pid 2>/dev/null || code=$?
  for one in "${all[@]}"; do
    if ! ends_within "${one% *}" 50; then
      echo "orphaned: $one, after $signal to $name"
      exit 1
    fi
  done
  # A run may have ended by itself before it was hit.
  if [ "$code" -ne 0 ]; then
    killed=$((killed + 1))
    [ $((killed % 100)) -ne 0 ] || echo "$killed of $kills kills" >&2
    victims["$name $signal"]=$((${victims["$name $signal"]:-0} + 1))
    compgen -G 'killed/*.part' >/dev/null && unfinished=$((unfinished + 1))
    if [ "$name" = gone ]; then
      cat said
      echo "a run that nobody killed ended with exit code $code"
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
sleep 3 # younger files might be in the making
(run --checkpoint killed --metrics killed.jsonl --every 1 --resume)
cmp whole/step_00000030/variables.safetensors killed/step_00000030/variables.safetensors
cmp <(cut -d, -f1-4 whole.jsonl) <(cut -d, -f1-4 killed.jsonl)
if [ "$(left_files)" -gt 0 ]; then
  echo "$(left_files) files are left in /dev/shm"
  exit 1
fi
for name in "${!victims[@]}"; do echo "$name: ${victims[$name]}"; done | sort
echo "$killed kills, $unfinished while a checkpoint was written; $((ended + 1)) runs ended, all with the same weights"
