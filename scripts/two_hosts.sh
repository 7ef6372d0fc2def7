#!/usr/bin/env bash
# Runs a command with ranks on two hosts that are one machine: network namespaces on a bridge, each with a host name,
# shared memory and a /dev/shm of its own. MPICH's launcher reaches them without a remote shell. Needs root.
#   scripts/two_hosts.sh RANKS_PER_HOST COMMAND...     exit code 77 where the system does not allow it
#   MTFC_LINK=250mbit scripts/two_hosts.sh ...     each host sends at this rate at most, and all messages between ranks take
#     this way (tc's tbf, which lets 256 kB pass at once after a pause)
#   MTFC_SIGNAL=TERM MTFC_AFTER=log scripts/two_hosts.sh ...     signals the launcher when `log` is no longer empty
set -uo pipefail
ranks=$1
shift
name=mt$$
scratch=$(mktemp -d)
anchors=()
close() {
  for anchor in "${anchors[@]}"; do kill -9 "$anchor" && wait "$anchor"; done 2>/dev/null
  for n in "$name-1" "$name-2" "$name-bridge"; do ip netns del "$n" 2>/dev/null; done
  rm -rf "$scratch"
}
trap close EXIT
unavailable() {
  echo "two_hosts.sh: $1" >&2
  exit 77
}

[ "$(id -u)" -eq 0 ] && command -v ip nsenter unshare >/dev/null || unavailable "needs root, ip, nsenter and unshare"
printf '127.0.0.1 localhost\n10.77.0.1 %s-1\n10.77.0.2 %s-2\n' $name $name >"$scratch/hosts"
{
  ip netns add $name-bridge && ip -n $name-bridge link add br0 type bridge && ip -n $name-bridge link set br0 up
} 2>/dev/null || unavailable "can't make network namespaces"
for i in 1 2; do
  {
    ip netns add $name-$i && ip -n $name-bridge link add v$i type veth peer name eth0 netns $name-$i &&
      ip -n $name-bridge link set v$i master br0 && ip -n $name-bridge link set v$i up &&
      ip -n $name-$i addr add 10.77.0.$i/24 dev eth0 && ip -n $name-$i link set eth0 up && ip -n $name-$i link set lo up
  } 2>/dev/null || unavailable "can't connect network namespaces"
  [ -z "${MTFC_LINK:-}" ] || tc -n $name-$i qdisc add dev eth0 root tbf rate "$MTFC_LINK" burst 256k latency 50ms ||
    unavailable "can't limit the rate of a link"
  ip netns exec $name-$i unshare -u -m -i sh -c "
    hostname $name-$i; mount --make-rprivate /; mount -t tmpfs -o size=1g tmpfs /dev/shm
    mount --bind '$scratch/hosts' /etc/hosts; touch '$scratch/up$i'; exec sleep 1000000" 2>/dev/null &
  anchors+=($!)
done
for i in 1 2; do
  for _ in $(seq 100); do [ -e "$scratch/up$i" ] || sleep 0.1; done
  [ -e "$scratch/up$i" ] || unavailable "can't enter a namespace"
  echo ${anchors[i - 1]} >"$scratch/$name-$i.pid"
done
# What MPICH's launcher calls in place of ssh: [options] HOST COMMAND...
cat >"$scratch/shell" <<SHELL
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
host=\$1; shift
exec nsenter -t \$(cat "$scratch/\$host.pid") -m -u -i -n sh -c "cd '$PWD'; exec \$*"
SHELL
chmod +x "$scratch/shell"
settings=(UCX_NET_DEVICES=eth0)
# UCX would find that ranks of one machine can read each other's memory.
[ -z "${MTFC_LINK:-}" ] || settings+=(UCX_TLS=tcp,self)
nsenter -t "$(cat "$scratch/$name-1.pid")" -m -u -i -n env "${settings[@]}" sh -c 'cd "$0" && exec "$@"' "$PWD" \
  mpiexec.mpich -launcher ssh -launcher-exec "$scratch/shell" -hosts "$name-1:$ranks,$name-2:$ranks" \
  -n $((2 * ranks)) "$@" &
launcher=$!
# Sends the launcher a signal once a file is there and not empty.
if [ -n "${MTFC_SIGNAL:-}" ]; then
  while kill -0 $launcher 2>/dev/null && ! [ -s "$MTFC_AFTER" ]; do sleep 0.05; done
  kill -"$MTFC_SIGNAL" $launcher 2>/dev/null
fi
wait $launcher
