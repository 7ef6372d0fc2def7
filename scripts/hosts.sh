#!/usr/bin/env bash
# Runs a command with ranks on several hosts that are one machine: network namespaces on a bridge, each with a host name,
# process numbers, shared memory and a /dev/shm of its own. MPICH's launcher is on one more host, as on a login node, and
# reaches them without a remote shell. Needs root.
#   scripts/hosts.sh [OPTION...] RANKS_PER_HOST COMMAND...     exit code 77 where the system does not allow it
#     --hosts N          the number of hosts; 2 without it
#     --link RATE        each host sends at this rate at most, as in 250mbit. All messages between ranks go through the
#                        network then. After a pause, 256 kB pass at once (tc's tbf).
#     --delay TIME       each message takes this time longer, as in 0.2ms (tc's netem, which some kernels lack)
#     --cores            shares the machine's cores among the hosts, the same number for each
#     --traffic FILE     writes the bytes that each host's network interface sends and receives, a JSON object per host
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
[ $# -ge 2 ] && [[ $1 =~ ^[1-9][0-9]*$ && $hosts =~ ^[1-9][0-9]*$ ]] || { sed -n '2,13s/^# \{0,1\}//p' "$0" >&2; exit 2; }
ranks=$1
shift
name=mt$$
scratch=$(mktemp -d)
anchors=()
close() {
  # The first process of a host takes all others with it.
  for anchor in "${anchors[@]}"; do kill -9 "$anchor"; done 2>/dev/null
  wait 2>/dev/null
  for i in $(seq 0 "$hosts"); do ip netns del "$name-$i"; done 2>/dev/null
  ip netns del $name-bridge 2>/dev/null
  rm -rf "$scratch"
}
trap close EXIT
unavailable() {
  echo "hosts.sh: $1" >&2
  exit 77
}

[ "$(id -u)" -eq 0 ] && command -v ip nsenter unshare >/dev/null ||
  unavailable "needs root, ip, nsenter and unshare"
echo '127.0.0.1 localhost' >"$scratch/hosts"
for i in $(seq 0 "$hosts"); do echo "10.77.0.$((i + 1)) $name-$i" >>"$scratch/hosts"; done
{
  ip netns add $name-bridge && ip -n $name-bridge link add br0 type bridge && ip -n $name-bridge link set br0 up
} 2>/dev/null || unavailable "can't make network namespaces"
machine=($(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' | while IFS=- read -r a b; do seq "$a" "${b:-$a}"; done))
share=$((${#machine[@]} / hosts))
[ -z "$cores" ] || [ $share -gt 0 ] || unavailable "there are ${#machine[@]} cores for $hosts hosts"
for i in $(seq 0 "$hosts"); do
  {
    ip netns add $name-$i && ip -n $name-bridge link add v$i type veth peer name eth0 netns $name-$i &&
      ip -n $name-bridge link set v$i master br0 && ip -n $name-bridge link set v$i up &&
      ip -n $name-$i addr add 10.77.0.$((i + 1))/24 dev eth0 && ip -n $name-$i link set eth0 up && ip -n $name-$i link set lo up
  } 2>/dev/null || unavailable "can't connect network namespaces"
  [ -z "$link" ] || tc -n $name-$i qdisc add dev eth0 root handle 1: tbf rate "$link" burst 256k latency 50ms ||
    unavailable "can't limit the rate of a link"
  [ -z "$delay" ] || tc -n $name-$i qdisc add dev eth0 ${link:+parent 1:1} ${link:-root} netem delay "$delay" 2>/dev/null ||
    unavailable "can't delay the messages of a link (the kernel lacks netem)"
  place=() own=()
  [ $i -eq 0 ] || own=(-p -f --mount-proc)
  [ -z "$cores" ] || [ $i -eq 0 ] || place=(taskset -c "$(IFS=, && echo "${machine[*]:(i - 1) * share:share}")")
  ip netns exec $name-$i "${place[@]}" unshare -u -m -i "${own[@]}" sh -c "
    hostname $name-$i; mount --make-rprivate /; mount -t tmpfs -o size=1g tmpfs /dev/shm
    mount --bind '$scratch/hosts' /etc/hosts; touch '$scratch/up$i'; exec sleep 1000000" 2>/dev/null &
  outer=$!
  for _ in $(seq 100); do [ -e "$scratch/up$i" ] || sleep 0.1; done
  [ -e "$scratch/up$i" ] || unavailable "can't enter a namespace"
  [ $i -eq 0 ] && anchors+=($outer) || anchors+=("$(tr -d ' ' </proc/$outer/task/$outer/children)")
  [ -n "${anchors[i]}" ] || unavailable "can't find the first process of a host"
  echo "${anchors[i]} ${place[*]}" >"$scratch/$name-$i.pid"
done
# What MPICH's launcher calls in place of ssh: [options] HOST COMMAND...
cat >"$scratch/shell" <<SHELL
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
read -r anchor place <"$scratch/\$1.pid"; own=-p
[ "\$1" != $name-0 ] || own=
shift
exec \$place nsenter -t \$anchor -m -u -i -n \$own sh -c "cd '$PWD'; exec \$*"
SHELL
chmod +x "$scratch/shell"
settings=(UCX_NET_DEVICES=eth0)
# UCX would find that ranks of one machine can read each other's memory.
[ -z "$link$delay$traffic" ] || [ -n "${UCX_TLS:-}" ] || settings+=(UCX_TLS=tcp,self)
count() {
  for i in $(seq "$hosts"); do
    echo "$name-$i $(ip -n $name-$i -s link show eth0 | awk '/RX:/ {getline; r = $1} /TX:/ {getline; print $1, r}')"
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
  awk '{printf "{\"host\": %d, \"sent\": %d, \"received\": %d}\n", NR, $5 - $2, $6 - $3}' >"$traffic"
exit $code
