#!/usr/bin/env bash
# Runs a command on the login node of a Slurm cluster that is one machine: hosts made of network namespaces
# (scripts/host_namespaces.sh), with a slurmd on each and the controller on the login node. Everything is removed at the
# end. Needs root and the Debian packages slurm-wlm and munge.
#   scripts/slurm.sh [OPTION...] COMMAND...     exit code 77 where the system does not allow it
#     --hosts N     the number of hosts that run jobs; 2 without it
#     --cores N     the cores that each of them says it has; 2 without it
#     --grace S     the seconds that a preempted job has before it is stopped; 0 without it
#     --patience S  the seconds after which a host that does not answer is down; 8 without it
#     --logs DIR    keeps the logs of Slurm's daemons there
# The partition `low` is the default. A job of the partition `high` has the hosts of its jobs at once: they are requeued.
# The command has these variables:
#   SLURM_CONF    the configuration of the cluster
#   CLUSTER       a program: `$CLUSTER down HOST` ends a host as if its power were cut, `$CLUSTER up HOST` starts it again
set -uo pipefail
hosts=2 cpus=2 grace=0 patience=8 logs=
while [ $# -gt 0 ]; do
  case $1 in
    --hosts) hosts=$2 && shift 2 ;;
    --cores) cpus=$2 && shift 2 ;;
    --grace) grace=$2 && shift 2 ;;
    --patience) patience=$2 && shift 2 ;;
    --logs) logs=$(realpath -m "$2") && shift 2 ;;
    *) break ;;
  esac
done
[ $# -ge 1 ] && [[ $hosts =~ ^[1-9][0-9]*$ && $cpus =~ ^[1-9][0-9]*$ && $grace =~ ^[0-9]+$ && $patience =~ ^[1-9][0-9]*$ ]] ||
  { sed -n '2,15s/^# \{0,1\}//p' "$0" >&2; exit 2; }
name=sl$$
login_is_separate=1
scratch=$(mktemp -d)
. "$(dirname "$0")/host_namespaces.sh"
close() {
  trap '' INT TERM HUP
  [ -z "$logs" ] || { mkdir -p "$logs" && cp "$scratch"/*.log "$logs"; } 2>/dev/null
  remove_hosts
  rm -rf "$scratch"
}
trap close EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

PATH=$PATH:/usr/sbin:/sbin
for program in slurmctld slurmd sbatch munged; do
  command -v $program >/dev/null || unavailable "there is no $program (apt install slurm-wlm munge)"
done

configure() {
  local nodes
  nodes=$(for i in $(seq "$hosts"); do echo "$name-$i"; done | paste -sd,)
  export SLURM_CONF=$scratch/slurm.conf
  chmod 755 "$scratch"
  (umask 077 && head -c 1024 /dev/urandom >"$scratch/munge.key")
  # The limits are short, so that what takes minutes on a cluster takes seconds. A requeued job waits as long as its
  # credentials last (cred_expire).
  cat >"$SLURM_CONF" <<CONF
ClusterName=$name
SlurmctldHost=$name-0(10.77.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=cred_expire=5
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,sched_min_interval=0
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
StateSaveLocation=/run/slurmctld
SlurmdSpoolDir=/run/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=$scratch/slurmctld.log
SlurmdLogFile=$scratch/%n.log
SlurmdTimeout=$patience
KillWait=3
CompleteWait=0
ReturnToService=2
NodeName=$nodes CPUs=$cpus Sockets=1 CoresPerSocket=$cpus ThreadsPerCore=1 State=UNKNOWN
PartitionName=low Nodes=$nodes Default=YES PriorityTier=1 GraceTime=$grace MaxTime=60 State=UP
PartitionName=high Nodes=$nodes PriorityTier=2 PreemptMode=OFF MaxTime=60 State=UP
CONF
  printf 'CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n' >"$scratch/cgroup.conf"
}

# Starts the daemons of host $1: munge's, and the controller or slurmd. Their state is in memory.
start_daemons() {
  local daemon="slurmd -c -N $name-$1"
  [ "$1" -ne 0 ] || daemon="slurmctld -c"
  on_host "$1" sh -c "mount -t tmpfs -o mode=755 tmpfs /run && mkdir /run/munge /run/slurmctld /run/slurmd &&
    munged --key-file='$scratch/munge.key' --pid-file=/run/munge/munged.pid --seed-file=/run/munge/seed \
      --log-file=/run/munge/munged.log && $daemon" >"$scratch/start.log" 2>&1 ||
    unavailable "can't start Slurm on host $1: $(tail -n 1 "$scratch/start.log")"
}

number_of() {
  local i
  for i in $(seq "$hosts"); do [ "$1" != "$name-$i" ] || echo "$i"; done
}

# Obeys the orders of $CLUSTER until the command has ended. The orders come from another host's processes, which can't
# reach those of this one.
obey_until_end() {
  local order host i answer
  while kill -0 "$1" 2>/dev/null; do
    read -r -t 0.2 order host <&3 || continue
    i=$(number_of "$host") answer=
    if [ -z "$i" ]; then
      answer="there is no host '$host'"
    elif [ "$order" = down ]; then
      end_host "$i"
    else
      ip -n $name-bridge link set "v$i" up
      start_host "$i"
      start_daemons "$i"
    fi
    echo "$answer" >"$scratch/answer"
  done
}

write_cluster_program() {
  mkfifo "$scratch/orders"
  exec 3<>"$scratch/orders"
  cat >"$scratch/cluster" <<SHELL
#!/bin/sh
case \$1 in down | up) ;; *) echo "usage: cluster down|up HOST" >&2; exit 2 ;; esac
rm -f '$scratch/answer'
echo "\$1 \$2" >'$scratch/orders'
while ! [ -s '$scratch/answer' ]; do sleep 0.1; done
read -r answer <'$scratch/answer'
[ -z "\$answer" ] || { echo "\$answer" >&2; exit 2; }
SHELL
  chmod +x "$scratch/cluster"
  export CLUSTER=$scratch/cluster
}

configure
make_hosts
write_cluster_program
for i in $(seq 0 "$hosts"); do start_daemons "$i"; done
for _ in $(seq 100); do
  [ "$(on_host 0 sinfo -h -t idle -o %D 2>/dev/null | head -n 1)" != "$hosts" ] || break
  sleep 0.2
done
[ "$(on_host 0 sinfo -h -t idle -o %D 2>/dev/null | head -n 1)" = "$hosts" ] ||
  unavailable "the hosts do not come up: $(tail -n 1 "$scratch/slurmctld.log")"
enter_host 0
UCX_NET_DEVICES=eth0 "${enter[@]}" "$@" 3<&- &
command=$!
obey_until_end $command
wait $command
