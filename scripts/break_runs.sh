#!/usr/bin/env bash
# Breaks training runs over two hosts at random moments, again and again, and continues from their checkpoints. Hosts are network
# namespaces of this machine (scripts/hosts.sh); a third one is spare, and mtfc itself runs on a login node. Each fault hits a run:
#   rank       a rank gets SIGKILL
#   proxy      so does MPICH's proxy on a host, which has started the ranks there
#   launcher   or mpiexec, or mtfc itself, on the login node
#   host       a host loses its power
#   link       a host is cut off from all others
#   start      a host is cut off while the run starts: at once, or as soon as it has a proxy, or a rank
#   blink      a host is cut off for two seconds, and the run must go on. This waits for a step, since a run that starts may end
#   stop       a rank is stopped for some time: the run must go on
#   disk       the folder of checkpoints is full
# A run that a fault has ended must have ended within 10 seconds, and its processes on every host within 15; one line must say why,
# and name the host if one was lost. Every checkpoint must be one of an undisturbed run, bit for bit, and so must be the end of
# the run that continues from it. Half of the runs have --restarts 9, and must get to their end by themselves, if mtfc lives and
# the disk has room. Prints what has happened. Needs root, ssh and dropbear; exit code 77 where the system does not allow such hosts.
#   scripts/break_runs.sh [OPTION...]
#     --faults N         50 without it
#     --only KIND,...    some kinds of faults
#     --within SECONDS   faults come within that time of a start; within the time of an undisturbed run without it
#     --stop SECONDS     how long a rank is stopped; 30 without it
#     --ranks N          on each host; 2 without it
#     --mtfc PROGRAM     build/mtfc without it
#     --seed N           from the clock without it
set -uo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
faults=50 within= stop=30 ranks=2 mtfc=$root/build/mtfc seed=$(($(date +%s) % 32768))
kinds=(rank proxy launcher host link start blink stop disk)
while [ $# -gt 0 ]; do
  case $1 in
    --faults) faults=$2 ;;
    --only) IFS=, read -ra kinds <<<"$2" ;;
    --within) within=$2 ;;
    --stop) stop=$2 ;;
    --ranks) ranks=$2 ;;
    --mtfc) mtfc=$(realpath "$2") ;;
    --seed) seed=$2 ;;
    *) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0" >&2 && exit 2 ;;
  esac
  shift 2
done
RANDOM=$seed
hosts=3 link= delay= cores= has_ssh=1
name=bk$$
scratch=$(mktemp -d)
. "$root/scripts/host_namespaces.sh"
close() {
  remove_hosts
  umount -l "$scratch/disk" 2>/dev/null
  rm -rf "$scratch"
}
trap close EXIT
mkdir "$scratch/disk"
mount -t tmpfs -o size=128m tmpfs "$scratch/disk" 2>/dev/null || unavailable "can't mount a file system"
cp "$root/README.md" "$scratch/text" # which may change meanwhile
cd "$scratch/disk"
make_hosts
make_remote_shell
said=$scratch/said # what the run says

steps=40
run() {
  on_host 0 env HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC="$scratch/shell" UCX_NET_DEVICES=eth0 UCX_TLS=tcp,self \
    "$mtfc" run "$root/models/char_lm.json" -q --set layers=2 --set d_model=64 --set d_ff=512 --set length=32 \
    --set batch=8 --set dropout=0.1 --set warmup=3 --set steps=$steps --steps $steps --seed 7 \
    --input "tokens=text:$scratch/text" --input "targets=text:$scratch/text,shift=1" \
    --hosts $name-1:$ranks,$name-2:$ranks,$name-3:$ranks --mesh rows:$((2 * ranks)) --layout batch:rows --threads 1 \
    --every 1 "$@"
}
now() { date +%s%N | cut -c1-13; }   # milliseconds
fail() {
  echo "FAILED: fault $((done_faults + 1)) ($kind, seed $seed): $1" >&2
  sed 's/^/    /' "$said" >&2
  echo "processes that are left:" >&2
  for process in $(left_processes); do echo "    $(tr '\0' ' ' <"/proc/$process/cmdline" | cut -c1-100)" >&2; done
  [ -z "${MTFC_STAY:-}" ] || sleep 100000
  exit 1
}

# Prints the processes of a host with this name, by the numbers that they have outside. `mtfc` is the program that is tested.
on_host_named() { # HOST NAME
  local process program=$2
  [ "$program" != mtfc ] || program=$(basename "$mtfc" | cut -c1-15)
  for process in $(processes_of_host "$1"); do
    [ "$(cat /proc/"$process"/comm 2>/dev/null)" != "$program" ] || echo "$process"
  done
}
pick() { shuf -n 1 --random-source=<(yes $RANDOM); }
left_processes() {
  local host
  for host in 1 2 3; do on_host_named $host mtfc; on_host_named $host hydra_pmi_proxy; done
  on_host_named 0 mpiexec.mpich; on_host_named 0 mpiexec.hydra; on_host_named 0 mtfc
}
has_ended() { [ ! -d "/proc/$1" ] || [ "$(sed 's/.*) \(.\).*/\1/' "/proc/$1/stat" 2>/dev/null)" = Z ]; }

# Leaves no room for checkpoints.
fill_disk() { dd if=/dev/zero of="$scratch/disk/filling" bs=64k 2>/dev/null || true; }

# Does the fault. Sets `victim`, for the report, and `must`: `end`, `go on` or `fail`.
strike() {
  local process host=$((1 + RANDOM % 2))
  must=end
  case $kind in
    rank | stop)
      process=$(on_host_named $host mtfc | pick)
      victim=$name-$host
      [ -n "$process" ] || return 1
      if [ $kind = rank ]; then
        kill -9 "$process"
      else
        must="go on"
        kill -STOP "$process"
        sleep "$stop"
        kill -CONT "$process" 2>/dev/null
      fi
      ;;
    proxy)
      process=$(on_host_named $host hydra_pmi_proxy | pick)
      victim=$name-$host
      [ -n "$process" ] || return 1
      kill -9 "$process"
      ;;
    launcher)
      victim=login
      if [ $((RANDOM % 2)) = 0 ]; then
        process=$(on_host_named 0 mpiexec.hydra; on_host_named 0 mpiexec.mpich)
      else
        must=fail # nobody is left to start it again
        process=$(on_host_named 0 mtfc)
      fi
      [ -n "$process" ] || return 1
      kill -9 $process 2>/dev/null
      ;;
    host) victim=$name-$host; end_host $host ;;
    link) victim=$name-$host; cut_host $host ;;
    start)
      victim=$name-$host
      local program
      program=$(printf '%s\n' sh hydra_pmi_proxy mtfc | pick) # the first process of a host is sh
      until [ -n "$(on_host_named $host $program)" ]; do ! has_ended $pid || return 1; done
      begin=$(now)
      cut_host $host
      ;;
    blink)
      must="go on" victim=$name-$host
      local last=$((SECONDS + 300))
      until [ "$(steps_done)" -gt "$steps_before" ]; do
        ! has_ended $pid || return 1
        [ $SECONDS -lt $last ] || fail "the run hangs"
        sleep 0.02
      done
      begin=$(now)
      cut_host $host
      sleep 2
      mend_host $host
      ;;
    disk) must=fail victim=disk; fill_disk ;;
  esac
  return 0
}

# Prints how many steps the metrics have.
steps_done() { [ -f metrics.jsonl ] && wc -l <metrics.jsonl || echo 0; }

# Brings back what the fault has taken.
mend() {
  [ -n "$victim" ] || return 0
  case $kind in
    host) revive_host "${victim##*-}" ;;
    link | start) mend_host "${victim##*-}" ;;
    disk) rm -f "$scratch/disk/filling" ;;
  esac
}

check_checkpoints() {
  local folder
  for folder in ck/step_*; do
    [[ $folder == *.part || ! -d $folder ]] && continue
    cmp -s "$folder/variables.safetensors" "$scratch/whole/$(basename "$folder").safetensors" ||
      fail "$folder differs from the same step of the undisturbed run"
  done
}
check_end() {
  check_checkpoints
  [ -d ck/step_$(printf %08d $steps) ] || fail "the last checkpoint is missing"
  cmp -s <(numbers "$scratch/whole/metrics.jsonl") <(numbers metrics.jsonl) || fail "the numbers of some step differ"
}
# The metrics without the times.
numbers() { sed -E 's/,"(step_time|samples_per_second|tokens_per_second|mfu|wall_time)":[^,}]*//g' "$1"; }

# Waits for the end of a run, which may have been started again. Sets code.
end_of() {
  local last=$((SECONDS + 300))
  until has_ended "$1"; do
    [ $SECONDS -lt $last ] || fail "the run hangs"
    sleep 0.05
  done
  wait "$1"
  code=$?
}

# The undisturbed run, all of whose checkpoints are kept.
kind=none done_faults=0
mkdir "$scratch/whole"
start=$(now)
run --checkpoint ck --metrics "$scratch/whole/metrics.jsonl" >"$said" 2>&1 || fail "the undisturbed run has failed"
length=$(($(now) - start))
for folder in ck/step_*; do cp "$folder/variables.safetensors" "$scratch/whole/$(basename "$folder").safetensors"; done
rm -rf ck
echo "undisturbed: $steps steps over 2 hosts x $ranks ranks in $length ms"
range=$([ -z "$within" ] && echo $length || awk -v s="$within" 'BEGIN {print int(1000 * s)}') # of the times of faults, in ms

declare -A count=() longest=()
ended=0 missed=0
while [ $done_faults -lt "$faults" ]; do
  kind=${kinds[RANDOM % ${#kinds[@]}]}
  restarts=$((RANDOM % 2 * 9))
  steps_before=$(steps_done)
  run --checkpoint ck --keep 5 --metrics metrics.jsonl --resume --restarts $restarts >"$said" 2>&1 &
  pid=$!
  [ $kind = start ] && after=0 || after=$(((RANDOM * 32768 + RANDOM) % range))
  sleep "$(printf '%d.%03d' $((after / 1000)) $((after % 1000)))"
  begin=$(now) victim=
  if has_ended $pid || ! strike; then
    missed=$((missed + 1))
    mend
    end_of $pid
    [ $code -eq 0 ] || fail "a run that nothing has hit ended with exit code $code"
    check_end
    rm -rf ck metrics.jsonl
    continue
  fi
  done_when_hit=$(steps_done)
  # The time until the run has ended, or has been started again, or has gone on to its end.
  limit=10000
  [ "$must" != "go on" ] || limit=60000
  while ! has_ended $pid && [ $(($(now) - begin)) -le $limit ] && ! grep -q '^mtfc: error: ' "$said"; do sleep 0.05; done
  took=$(($(now) - begin))
  if [ $took -gt $limit ]; then fail "the run has not ended after $took ms"; fi
  # What a host that has been cut off says must not arrive.
  for _ in $(seq 400); do
    ! has_ended $pid && ! grep -q '^mtfc: restart ' "$said" || break
    sleep 0.05
  done
  if has_ended $pid; then
    until [ -z "$(left_processes)" ]; do
      [ $(($(now) - begin)) -lt $((limit + 5000)) ] || fail "processes are left: $(left_processes | xargs -I{} sh -c 'cat /proc/{}/comm' | paste -sd' ')"
      sleep 0.05
    done
  fi
  mend
  end_of $pid
  count[$kind]=$((${count[$kind]:-0} + 1))
  [ $took -le "${longest[$kind]:-0}" ] || longest[$kind]=$took
  case $code in
    # A process that is killed behind the last step may have ended by itself just before.
    0) [ "$must" != fail ] || [ $kind = disk ] || [ "$done_when_hit" -ge $steps ] || fail "the run has ended as if nothing had happened" ;;
    1 | 137)
      [ "$must" != "go on" ] || fail "the run has ended"
      [ $code = 1 ] || [ $kind = launcher ] || fail "exit code $code"
      [ $restarts -eq 0 ] || [ "$must" = fail ] || fail "the run has not been started again"
      [ $code = 137 ] || [ "$(grep -c '^mtfc: error: ' "$said")" -eq 1 ] || fail "not one line says why the run has ended"
      ;;
    *) fail "exit code $code" ;;
  esac
  case $kind in
    host | link | start) ! grep -q '^mtfc: error: ' "$said" || grep -q "'$victim'" "$said" || fail "the host $victim is not named" ;;
  esac
  [ -z "${MTFC_SHOW:-}" ] || { echo "$kind ($victim, $took ms, exit code $code):" && sed 's/^/    /' "$said"; }
  done_faults=$((done_faults + 1))
  [ $((done_faults % 20)) -ne 0 ] || echo "$done_faults of $faults faults" >&2
  if [ $code -eq 0 ]; then
    check_end
    ended=$((ended + 1))
    rm -rf ck metrics.jsonl
  else
    check_checkpoints
  fi
done
if [ -d ck ]; then
  kind=none
  run --checkpoint ck --keep 5 --metrics metrics.jsonl --resume >"$said" 2>&1 || fail "the last run has failed"
  check_end
  ended=$((ended + 1))
fi
for kind in "${!count[@]}"; do echo "$kind: ${count[$kind]} faults, the end or the next start after ${longest[$kind]} ms at most"; done | sort
echo "$faults faults ($missed came when the run was over); $ended runs came to their end, all with the same bits (seed $seed)"
