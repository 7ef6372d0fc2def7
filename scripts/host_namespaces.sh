# Makes several hosts out of one machine: network namespaces on a bridge, each with a host name, process numbers, shared
# memory and a /dev/shm of its own. Scripts source this file. It needs root, and these variables:
#   name       the beginning of the hosts' names: $name-0 is the login node, $name-1 to $name-$hosts the others
#   hosts      the number of hosts besides the login node
#   scratch    a folder for this file's own files
#   link, delay, cores      as the options of hosts.sh; may be empty
#   login_is_separate       if not empty, the login node has process numbers of its own too
#   has_ssh                 if not empty, each host that has process numbers of its own runs an ssh server; root's home on the
#                           hosts is a folder in $scratch then
# make_hosts fills anchors, which has the first process of each host, and keepers, which has the child of this script
# that started it. Each takes all processes of the host with it. delayers has the programs that delay packets, if any.
anchors=() keepers=() delayers=()

# Ends the script where the system does not allow what it needs.
unavailable() {
  echo "$(basename "$0"): $1" >&2
  exit 77
}

has_own_processes() { [ "$1" -ne 0 ] || [ -n "${login_is_separate:-}" ]; }

require_namespaces() {
  [ "$(id -u)" -eq 0 ] && command -v ip nsenter unshare >/dev/null || unavailable "needs root, ip, nsenter and unshare"
}

# The cores of host $1, as taskset takes them: its share of the machine's, or one that it shares with other hosts.
cores_of_host() {
  local machine share
  machine=($(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' | while IFS=- read -r a b; do seq "$a" "${b:-$a}"; done))
  share=$((${#machine[@]} / hosts))
  [ $share -gt 0 ] || { echo "${machine[($1 - 1) % ${#machine[@]}]}" && return; }
  (IFS=, && echo "${machine[*]:($1 - 1) * share:share}")
}

connect_host() {
  local i=$1
  {
    ip netns add $name-$i && ip -n $name-bridge link add v$i type veth peer name eth0 netns $name-$i &&
      ip -n $name-bridge link set v$i master br0 && ip -n $name-bridge link set v$i up &&
      ip -n $name-$i addr add 10.77.0.$((i + 1))/24 dev eth0 && ip -n $name-$i link set eth0 up && ip -n $name-$i link set lo up
  } 2>/dev/null || unavailable "can't connect network namespaces"
  [ -z "${link:-}" ] || tc -n $name-$i qdisc add dev eth0 root handle 1: tbf rate "$link" burst 256k latency 50ms ||
    unavailable "can't limit the rate of a link"
  [ -z "${delay:-}" ] ||
    tc -n $name-$i qdisc add dev eth0 ${link:+parent 1:1} ${link:-root} netem delay "$delay" 2>/dev/null || delay_packets $i
}

# Delays what host $1 receives, on a kernel without netem: the firewall holds packets until a program lets them go on.
delay_packets() {
  local program=$scratch/delay_packets source=$(dirname "${BASH_SOURCE[0]}")/delay_packets.cpp firewall
  command -v g++ iptables >/dev/null && [ -e /usr/include/libnetfilter_queue/libnetfilter_queue.h ] ||
    unavailable "can't delay messages: the kernel lacks netem; without it, g++, iptables and libnetfilter-queue-dev are needed"
  [ -x "$program" ] || g++ -std=c++20 -O2 "$source" -o "$program" -lnetfilter_queue -lnfnetlink || exit 1
  ip netns exec $name-$1 "$program" "$delay" >"$scratch/delay$1" &
  delayers[$1]=$!
  for _ in $(seq 100); do [ -s "$scratch/delay$1" ] || ! kill -0 ${delayers[$1]} 2>/dev/null || sleep 0.05; done
  [ -s "$scratch/delay$1" ] || unavailable "can't reach the kernel's queues of packets"
  # Some kernels have the older kind of tables alone, some the newer.
  for firewall in iptables-legacy iptables; do
    ip netns exec $name-$1 $firewall -A INPUT -i eth0 -j NFQUEUE --queue-num 0 2>/dev/null && return
  done
  unavailable "can't put packets into a queue of the kernel's"
}

# Makes the keys by which the login node enters the other hosts, and the entry of root in the hosts' /etc/passwd.
make_keys() {
  command -v dropbear ssh ssh-keygen >/dev/null || unavailable "needs ssh and dropbear (openssh-client, dropbear-bin)"
  mkdir -p "$scratch/home/.ssh" && chmod 700 "$scratch/home/.ssh" && ssh-keygen -q -t ed25519 -N '' -f "$scratch/key" &&
    cp "$scratch/key.pub" "$scratch/home/.ssh/authorized_keys" &&
    dropbearkey -t ed25519 -f "$scratch/host_key" >/dev/null 2>&1 || unavailable "can't make keys for ssh"
  sed "s|^root:.*|root:x:0:0::$scratch/home:/bin/sh|" /etc/passwd >"$scratch/passwd"
  printf '%s\n' 'Host *' "IdentityFile $scratch/key" 'UserKnownHostsFile /dev/null' 'StrictHostKeyChecking no' \
    'LogLevel ERROR' >"$scratch/ssh_config"
}

# Starts the first process of host $1, which waits for orphans of the host, as init does.
start_host() {
  local i=$1 place=() own=() outer
  has_own_processes $i && own=(-p -f --mount-proc --kill-child)
  [ -z "${cores:-}" ] || [ $i -eq 0 ] || place=(taskset -c "$(cores_of_host $i)")
  rm -f "$scratch/up$i"
  ip netns exec $name-$i "${place[@]}" unshare -u -m -i "${own[@]}" sh -c "
    hostname $name-$i; mount --make-rprivate /; mount -t tmpfs -o size=1g tmpfs /dev/shm
    mount --bind '$scratch/hosts' /etc/hosts; ${has_ssh:+mount --bind '$scratch/passwd' /etc/passwd;} touch '$scratch/up$i'
    ${own:+sleep 1000000 & while :; do wait; done;} exec sleep 1000000" 2>/dev/null &
  outer=$! keepers[i]=$!
  for _ in $(seq 100); do [ -e "$scratch/up$i" ] || sleep 0.1; done
  [ -e "$scratch/up$i" ] || unavailable "can't enter a namespace"
  has_own_processes $i && anchors[i]=$(tr -d ' ' </proc/$outer/task/$outer/children) || anchors[i]=$outer
  [ -n "${anchors[i]}" ] || unavailable "can't find the first process of a host"
  echo "${anchors[i]} ${place[*]}" >"$scratch/$name-$i.pid"
  # Nobody logs in to a login node that shares the script's processes, and nothing would end its server.
  [ -z "${has_ssh:-}" ] || ! has_own_processes $i || on_host $i dropbear -r "$scratch/host_key" -s -j -k -P '' 2>/dev/null ||
    unavailable "can't start an ssh server"
}

make_hosts() {
  local i
  require_namespaces
  echo '127.0.0.1 localhost' >"$scratch/hosts"
  for i in $(seq 0 "$hosts"); do echo "10.77.0.$((i + 1)) $name-$i" >>"$scratch/hosts"; done
  [ -z "${has_ssh:-}" ] || make_keys
  {
    ip netns add $name-bridge && ip -n $name-bridge link add br0 type bridge && ip -n $name-bridge link set br0 up
  } 2>/dev/null || unavailable "can't make network namespaces"
  for i in $(seq 0 "$hosts"); do
    connect_host $i
    start_host $i
  done
}

# Fills `enter`, the words that make a command one of host $1, in the same folder.
enter_host() {
  local anchor place own=()
  read -r anchor place <"$scratch/$name-$1.pid"
  has_own_processes "$1" && own=(-p)
  enter=($place nsenter -t "$anchor" -m -u -i -n "${own[@]}" "--wd=$PWD")
}

# Runs a command on host $1.
on_host() {
  enter_host "$1"
  shift
  "${enter[@]}" "$@"
}

# Writes $scratch/shell, which MPICH's launcher calls in place of ssh: [options] HOST COMMAND... It is ssh where the hosts have
# servers, and else needs no network; then it can't be used with a login node that has process numbers of its own.
make_remote_shell() {
  if [ -n "${has_ssh:-}" ]; then
    printf '#!/bin/sh\nexec ssh -F "%s" "$@"\n' "$scratch/ssh_config" >"$scratch/shell"
    chmod +x "$scratch/shell"
    return
  fi
  cat >"$scratch/shell" <<SHELL
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
read -r anchor place <"$scratch/\$1.pid"; own=-p
[ "\$1" != $name-0 ] || own=
shift
exec \$place nsenter -t \$anchor -m -u -i -n \$own sh -c "cd '$PWD'; exec \$*"
SHELL
  chmod +x "$scratch/shell"
}

# Ends a host at once, as if its power were cut.
end_host() {
  cut_host $1
  kill -9 "${anchors[$1]}"
}

# Makes a host anew that has been ended.
revive_host() {
  wait "${keepers[$1]}" 2>/dev/null
  mend_host $1
  start_host $1
}

# Disconnects a host from all others, and connects it again.
cut_host() { ip -n $name-bridge link set v$1 down; }
mend_host() {
  local i
  ip -n $name-bridge link set v$1 up
  # Hosts that have not found each other would not try again for some time.
  for i in $(seq 0 "$hosts"); do ip -n $name-$i neigh flush all; done
}

# The processes of host $1, by the numbers that they have outside.
processes_of_host() { ip netns pids $name-$1; }

# Removes all that make_hosts has made. A signal that comes twice does not end it early.
remove_hosts() {
  local i
  trap '' INT TERM HUP
  kill -9 "${anchors[@]}" "${keepers[@]}" "${delayers[@]}" 2>/dev/null
  wait 2>/dev/null
  for i in $(seq 0 "$hosts"); do ip netns del "$name-$i"; done 2>/dev/null
  ip netns del $name-bridge 2>/dev/null
}
