#!/usr/bin/env bash
# Ends training runs at random moments as `timeout` does (which signals the process, and then its group), and as a
# job manager does (twice, or first the ranks and then the rest), and looks for what is lost. Every run that has
# begun to take steps must end with 130 or 143, say so in one line, have saved the step that this line names, and leave
# no process.
#   scripts/interrupt_runs.sh [RUNS [MTFC [SEED]]]     default: 200 runs of build/mtfc, with a seed from the clock
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
runs=${1:-200}
mtfc=$(realpath "${2:-$root/build/mtfc}")
RANDOM=${3:-$(($(date +%s) % 32768))}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

train() {
  echo "$mtfc" run "$root/models/mnist.json" -q --steps 100000000 --checkpoint ck --metrics log "$@"
}
descendants() {
  local child
  for child in $(cat /proc/"$1"/task/"$1"/children 2>/dev/null); do
    echo "$child"
    descendants "$child"
  done
}
seconds() { printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)); }

declare -A codes=()
lost=0 early=0 slow=0
for ((run = 1; run <= runs; ++run)); do
  rm -rf ck log said
  ranks=$((RANDOM % 3 * 2)) # 0: this process alone
  layout=()
  [ $ranks -gt 0 ] && layout=(--mesh "a:$ranks" --layout batch:a)
  command=$(train "${layout[@]}")
  signal=TERM
  [ $((RANDOM % 2)) -eq 0 ] && signal=INT
  after=$((700 + RANDOM % 1500))
  code=0
  if [ $((run % 2)) -eq 0 ]; then
    kind=timeout
    timeout --preserve-status -s $signal "$(seconds $after)" $command 2>said || code=$?
  else
    kind=twice
    setsid $command 2>said </dev/null &
    pid=$!
    sleep "$(seconds $after)"
    all=$(descendants $pid)
    start=$(date +%s%N)
    # Every process of the group and every rank, and then the first one again.
    kill -$signal -- -$pid 2>/dev/null || true
    for one in $all; do
      tr '\0' '\n' 2>/dev/null </proc/"$one"/environ | grep -q '^PMI_RANK=' && kill -$signal "$one" 2>/dev/null || true
    done
    kill -$signal $pid 2>/dev/null || true
    wait $pid || code=$?
    [ $((($(date +%s%N) - start) / 1000000)) -gt 1000 ] && slow=$((slow + 1))
    for one in $all; do
      if [ -d /proc/"$one" ] && [ "$(cut -d' ' -f3 /proc/"$one"/stat 2>/dev/null)" != Z ]; then
        sleep 2
        if [ -d /proc/"$one" ]; then
          echo "run $run: process $one is left"
          exit 1
        fi
      fi
    done
  fi
  codes["$kind $signal $code"]=$((${codes["$kind $signal $code"]:-0} + 1))
  if ! [ -s log ]; then # before the first step
    early=$((early + 1))
    continue
  fi
  expected=143
  [ $signal = INT ] && expected=130
  said=$(tr -d '\r' <said)
  saved=$(sed -n "s/^mtfc: interrupted by SIG$signal: stopped after step .*; the last checkpoint is '\(.*\)'$/\1/p" <<<"$said")
  if [ $code -ne $expected ] || [ "$(wc -l <<<"$said")" -ne 1 ] || [ -z "$saved" ] || ! [ -f "$saved/variables.safetensors" ] ||
    [ "$(tail -n 1 log | sed 's/.*"step":\([0-9]*\).*/\1/')" -ne "$((10#${saved##*_}))" ] || compgen -G 'ck/*.part' >/dev/null; then
    lost=$((lost + 1))
    echo "run $run ($kind, $signal after $after ms, $ranks ranks): exit code $code, and it said: $said"
    ls ck
  fi
done
for code in "${!codes[@]}"; do echo "$code: ${codes[$code]}"; done
echo "$runs runs, $early of them before the first step, $slow took longer than a second to end: $lost checkpoints lost"
[ $lost -eq 0 ]
