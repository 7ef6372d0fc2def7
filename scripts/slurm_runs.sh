#!/usr/bin/env bash
# Submits training jobs, as `mtfc slurm` writes them, to a Slurm cluster that is one machine (scripts/slurm.sh), disturbs
# them, and looks whether they end with exactly the bits of a job that nobody has disturbed: the last checkpoint, and
# the numbers of every step. Prints what the jobs say. Exit code 77 where the system does not allow such a cluster.
#   scripts/slurm_runs.sh [SCENARIO...]      all of them by default; MTFC=PROGRAM runs another one than build/mtfc
#     plain         nothing happens
#     preemption    a job of a partition with priority takes the nodes, at once
#     grace         the same, but the job is told some seconds before
#     requeue       scontrol requeue
#     limit         the time limit comes before the end of the run, once or more
#     node          a node loses its power, and the job goes on without it
#     cancel        scancel: the job saves a checkpoint and ends
#     failure       a data file has gone when the job starts: it ends with an error
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
export MTFC=${MTFC:-$root/build/mtfc}
scenarios=(plain preemption grace requeue limit node cancel failure)

# -- outside the cluster --

if [ "${1:-}" != --inside ]; then
  [ $# -eq 0 ] || scenarios=("$@")
  WORK=$(mktemp -d)
  export WORK
  trap 'rm -rf "$WORK"' EXIT
  for scenario in "${scenarios[@]}"; do
    options=(--hosts 3)
    [ "$scenario" != grace ] || options+=(--grace 20)
    "$root/scripts/slurm.sh" "${options[@]}" "$root/scripts/slurm_runs.sh" --inside "$scenario" || exit
  done
  exit
fi

# -- on the login node --

steps=1500
reference=plain # the folder of the job whose bits others must have
data=$root/testdata/digits

fail() {
  echo "FAILED: $1" >&2
  [ ! -s log ] || sed 's/^/    /' log >&2
  exit 1
}

# write_job FOLDER [OPTION...]: makes the folder of a job, and goes there.
write_job() {
  mkdir -p "$WORK/$1" && cd "$WORK/$1"
  shift
  "$MTFC" slurm "$root/models/mnist.json" --nodes 2 --cpus-per-task 1 --mesh all:2 --layout batch:all \
    --input "images=idx:$data/images-idx3-ubyte.gz,scale=1/255" --input "labels=idx:$data/labels-idx1-ubyte.gz" \
    --steps $steps --checkpoint ck --every 100 --metrics metrics.jsonl -q --job-name digits "$@" -o job.sh
  bash -n job.sh
}

# Does the same, and submits the job. Sets id.
submit() {
  write_job "$@"
  id=$(sbatch --parsable --exclusive --output=log job.sh)
}

fact() { scontrol show job "$id" | tr ' ' '\n' | sed -n "s/^$1=//p"; }

# until_true COMMAND...: waits for long enough that only what hangs is given up, however busy the machine is.
until_true() {
  local last=$((SECONDS + 600))
  until "$@"; do
    [ $SECONDS -lt $last ] || fail "waited too long for: $* (the job is $(fact JobState))"
    sleep 0.1
  done
}
has_steps() { [ "$(wc -l 2>/dev/null <metrics.jsonl)" -ge "$1" ]; } 2>/dev/null
has_ended() { [[ $(fact JobState) =~ ^(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL|PREEMPTED|OUT_OF_MEMORY)$ ]]; }
has_checkpoint() { [ "$(ls ck)" ]; } 2>/dev/null
has_restarted() { [ "$(fact Restarts)" -ge "$1" ]; }

# The job must come to this state and exit code; shows what it said.
require_end() {
  until_true has_ended
  local found
  found="$(fact JobState) $(fact ExitCode)"
  [ "$found" = "$1" ] || fail "the job should have ended as $1, but it is $found"
  sed "s/^/    /; s/[^ ']*$(basename "$WORK")/WORK/g" log
}

# The metrics without the times.
numbers() { sed -E 's/,"(step_time|samples_per_second|tokens_per_second|mfu|wall_time)":[^,}]*//g' metrics.jsonl; }

require_same_bits() {
  local last file
  last=ck/step_$(printf %08d $steps)
  for file in "$last"/*; do cmp "$file" "$WORK/$reference/$file" || fail "$file differs from that of the undisturbed job"; done
  [ "$(ls "$last")" = "$(ls "$WORK/$reference/$last")" ] || fail "the checkpoint has other files"
  diff <(numbers) <(cd "$WORK/$reference" && numbers) >/dev/null || fail "the numbers of some step differ"
  [ "$(wc -l <metrics.jsonl)" -eq $steps ] || fail "there are $(wc -l <metrics.jsonl) lines of metrics"
  echo "  $(fact Restarts) restarts; $last and the numbers of $steps steps: the same bits as of the undisturbed job"
}

# A job that nobody disturbs, in the folder $reference.
undisturbed() {
  submit $reference
  require_end "COMPLETED 0:0"
  [ "$(fact Restarts)" -eq 0 ] || fail "the job has been restarted"
  has_steps $steps || fail "some steps are missing"
}

plain() { echo "  the last step: $(cd "$WORK/plain" && numbers | tail -n 1)"; }

take_nodes() { sbatch --parsable --partition=high --exclusive --nodes=3 --output=/dev/null --wrap 'sleep 1' >/dev/null; }

preemption() {
  submit preemption
  until_true has_steps 250
  take_nodes
  until_true has_restarted 1
  require_end "COMPLETED 0:0"
  grep -q 'DUE TO PREEMPTION' log || fail "the job has not been preempted"
  require_same_bits
}

grace() {
  submit grace
  until_true has_steps 250
  take_nodes
  until_true has_restarted 1
  require_end "COMPLETED 0:0"
  grep -q '^requeueing job' log || fail "the job has not requeued itself"
  require_same_bits
}

requeue() {
  submit requeue
  until_true has_steps 250
  scontrol requeue "$id"
  until_true has_restarted 1
  require_end "COMPLETED 0:0"
  require_same_bits
}

# Slurm looks for time limits every 30 seconds, so the job takes as many steps as take a minute and a half.
limit() {
  local each
  each=$(sed -E 's/.*"step_time":([0-9.e-]+).*/\1/' "$WORK/plain/metrics.jsonl" | sort -g | sed -n "$((steps / 2))p")
  steps=$(awk "BEGIN {print int(90 / $each)}")
  reference=long
  undisturbed >/dev/null
  submit limit --time 1 --stop-before 5
  until_true has_restarted 1
  require_end "COMPLETED 0:0"
  grep -q '^requeueing job' log || fail "the job has not requeued itself"
  require_same_bits
}

node() {
  submit node
  until_true has_steps 250
  local first lost
  first=$(fact BatchHost)
  lost=$(scontrol show hostnames "$(fact NodeList)" | grep -vx "$first")
  echo "  the job runs on $(fact NodeList); $lost loses its power"
  "$CLUSTER" down "$lost"
  until_true has_restarted 1
  require_end "COMPLETED 0:0"
  grep -q "Node failure on $lost" log || fail "Slurm has not named the node"
  echo "  the job has ended on $(fact NodeList); the nodes: $(sinfo -h -N -p low -o '%N %T' | paste -sd,)"
  require_same_bits
  "$CLUSTER" up "$lost"
}

cancel() {
  submit cancel
  until_true has_steps 250
  scancel "$id"
  until_true has_ended
  [ "$(fact JobState) $(fact Restarts)" = "CANCELLED 0" ] || fail "the job is $(fact JobState)"
  until_true has_checkpoint
  echo "  $(grep 'interrupted by' log || true)"
}

failure() {
  cp "$data/images-idx3-ubyte.gz" "$WORK/images.gz"
  write_job failure --valid "images=idx:$WORK/images.gz,scale=1/255" --valid "labels=idx:$data/labels-idx1-ubyte.gz"
  rm "$WORK/images.gz"
  id=$(sbatch --parsable --exclusive --output=log job.sh)
  require_end "FAILED 1:0"
  [ "$(fact Restarts)" -eq 0 ] || fail "the job has been requeued"
}

[ -d "$WORK/plain" ] || undisturbed
echo "$2"
"$2"
