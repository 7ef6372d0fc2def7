#!/usr/bin/env bash
# Runs a command with ranks on several hosts that are one machine: network namespaces on a bridge, each with a host name,
# process numbers, shared memory and a /dev/shm of its own. MPICH's launcher is on one more host, as on a login node, and
# reaches them without a remote shell. Needs root.
#   scripts/hosts.sh [OPTION...] RANKS_PER_HOST COMMAND...     exit code 77 where the system does not allow it
#     --hosts N          the number of hosts; 2 without it
#     --link RATE        each host sends at this rate at most, as in 250mbit. All messages between ranks go through the
#                        network then. After a pause, 256 kB pass at once (tc's tbf).
#     --delay TIME       each message takes this time longer, as in 0.2ms (tc's netem, or delay_packets.cpp where
#                        the kernel lacks it)
#     --cores            shares the machine's cores among the hosts, the same number for each, at least one
#     --traffic FILE     writes the bytes and packets that each host's network interface sends and receives, and how many
#                        segments TCP sends again, a JSON object per host
#     --signal NAME --after FILE     signals the launcher when FILE is no longer empty
set -uo pipefail
hosts=2 link= delay= cores= traffic= signal= after=
while [ $# -gt 0 ]; do
  case $1 in
    --hosts) hosts=$2 && shift 2 ;;
    --link) link=$2 && shift 2 ;;
    --delay) delay=$2 && shift 2 ;;
    --cores) cores=1 && shift ;;
    --traffic) traffic=$2 && shift 2 ;;
    --signal) signal=$2 && shift 2 ;;
    --after) after=$2 && shift 2 ;;
    *) break ;;
  esac
done
[ $# -ge 2 ] && [[ $1 =~ ^[1-9][0-9]*$ && $hosts =~ ^[1-9][0-9]*$ && $delay =~ ^([0-9.]+(s|ms|us))?$ ]] || { sed -n '2,15s/^# \{0,1\}//p' "$0" >&2; exit 2; }
ranks=$1
shift
name=mt$$
scratch=$(mktemp -d)
. "$(dirname "$0")/host_namespaces.sh"
close() {
  remove_hosts
  rm -rf "$scratch"
}
trap close EXIT

make_hosts
make_remote_shell
settings=(UCX_NET_DEVICES=eth0)
# UCX would find that ranks of one machine can read each other's memory.
[ -z "$link$delay$traffic" ] || [ -n "${UCX_TLS:-}" ] || settings+=(UCX_TLS=tcp,self)
count() {
  for i in $(seq "$hosts"); do
    echo "$name-$i $(ip -n $name-$i -s link show eth0 | awk '/RX:/ {getline; r = $1 " " $2} /TX:/ {getline; print $1, $2, r}')" \
      "$(ip netns exec $name-$i awk '/^Tcp: [0-9]/ {print $13}' /proc/net/snmp)"
  done
}
[ -z "$traffic" ] || count >"$scratch/before"
spec=$(for i in $(seq "$hosts"); do echo "$name-$i:$ranks"; done | paste -sd,)
"$scratch/shell" $name-0 "$(printf '%q ' env "${settings[@]}" mpiexec.mpich -launcher ssh -launcher-exec "$scratch/shell" \
  -hosts "$spec" -n $((hosts * ranks)) "$@")" &
launcher=$!
# Sends the launcher a signal once a file is there and not empty.
if [ -n "$signal" ]; then
  while kill -0 $launcher 2>/dev/null && ! [ -s "$after" ]; do sleep 0.05; done
  kill -"$signal" $launcher 2>/dev/null
fi
wait $launcher
code=$?
[ -z "$traffic" ] || count | paste -d' ' "$scratch/before" - |
  awk '{printf "{\"host\": %d, \"sent\": %d, \"packets_sent\": %d, \"received\": %d, \"packets_received\": %d, \"segments_resent\": %d}\n",
    NR, $8 - $2, $9 - $3, $10 - $4, $11 - $5, $12 - $6}' >"$traffic"
exit $code
