#!/usr/bin/env bash
# Installs the Debian package of mtfc in a fresh Debian system in a folder, and uses it there: the package must bring all that
# mtfc needs, and leave nothing behind when it is removed. Needs root, and the Debian mirror that apt is set up with; takes a
# few minutes.
#   scripts/package_check.sh [PACKAGE.deb]      without it, scripts/package.sh makes the package
set -euo pipefail
cd "$(dirname "$0")/.."

[ "$(id -u)" -eq 0 ] || { echo "error: a system in a folder takes root" >&2; exit 1; }
scripts/install_packages.sh debootstrap
package=${1:-$(scripts/package.sh)}
# The folder's mounts are seen by this script alone, and end with it.
[ -n "${MTFC_OWN_MOUNTS:-}" ] || MTFC_OWN_MOUNTS=1 exec unshare --mount --propagation private "$0" "$package"

root=$(mktemp -d)
remove() {
  umount -l "$root/proc" "$root/dev" 2>/dev/null || true
  rm -rf --one-file-system "$root"
}
trap remove EXIT

release=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $release" 'Created-By: Packages' | head -n 1)
[ -n "$mirror" ] || { echo "error: apt has no source of packages for $release" >&2; exit 1; }
echo "Making a $release system in $root"
debootstrap --variant=minbase --include=man-db,bash-completion "$release" "$root" "${mirror%/}" >"$root.log" 2>&1 ||
  { tail -n 5 "$root.log" >&2; rm -f "$root.log"; exit 1; }
rm -f "$root.log"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
mkdir "$root/dev/shm"
for device in null zero urandom; do touch "$root/dev/$device" && mount --bind "/dev/$device" "$root/dev/$device"; done
ln -s /proc/self/fd "$root/dev/fd"
cp "$package" "$root/tmp/mtfc.deb"

failed=0
# inside COMMAND: in the new system, with nothing of this one's environment
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb chroot "$root" sh -c "$1"; }
# expect COMMAND TEXT: the command succeeds and its output contains the text
expect() {
  local said
  if said=$(inside "$1" 2>&1) && [[ $said == *"$2"* ]]; then
    echo "ok: $1"
  else
    printf 'FAILED: %s\n  expected %s, found:\n%s\n' "$1" "$2" "$said"
    failed=1
  fi
}

echo "Installing $(basename "$package") with what it depends on"
inside 'export DEBIAN_FRONTEND=noninteractive; apt-get -qq update && apt-get -qq install -y --no-install-recommends /tmp/mtfc.deb' \
  >"$root/tmp/install.log" 2>&1 || { tail -n 20 "$root/tmp/install.log" >&2; exit 1; }
version=$(sed -n 's/^project(mtfc VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
expect 'mtfc --version' "mtfc $version"
expect 'LD_DEBUG=files mtfc run /usr/share/mtfc/models/mnist.json --steps 1 -q' '/openblas-openmp/libopenblas.so.0'
expect 'mtfc check /usr/share/mtfc/models/transformer_lm.json' 'no errors'
expect 'cd /tmp && mtfc run /usr/share/mtfc/models/mnist.json --mesh all:2 --layout batch:all --steps 3' 'step 3  loss '
expect 'mtfc cost-report /usr/share/mtfc/models/mnist.json --mesh all:4 --layout batch:all --hardware tpu-v2' 'predicted step time'
expect 'man -w mtfc' '/usr/share/man/man1/mtfc.1.gz'
expect 'man -w mtfc-run mtfc-layout' '/usr/share/man/man7/mtfc-layout.7.gz'
expect 'man -P cat mtfc-run' 'Ranks and hosts'
expect 'bash -c ". /usr/share/bash-completion/bash_completion; _completion_loader mtfc; complete -p mtfc"' 'complete -F _mtfc mtfc'
expect 'ls /usr/share/zsh/vendor-completions/_mtfc /usr/share/fish/vendor_completions.d/mtfc.fish' 'mtfc.fish'
expect 'dpkg --verify mtfc && echo unchanged' unchanged
expect 'apt-get -qq remove -y mtfc >/dev/null 2>&1; ! find / -xdev -path /tmp -prune -o -iname "*mtfc*" -print | grep .; echo rest: $?' 'rest: 0'
exit $failed
