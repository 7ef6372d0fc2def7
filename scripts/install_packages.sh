#!/usr/bin/env bash
# Installs the missing ones of the Debian packages that mtfc needs. Works as root or with sudo.
set -euo pipefail

packages=(g++ cmake ninja-build pkg-config libcli11-dev nlohmann-json3-dev libfmt-dev libopenblas-openmp-dev
          libdnnl-dev libhwloc-dev libjemalloc-dev mpich libmpich-dev doctest-dev zlib1g-dev libpng-dev
          libjpeg-dev libpcre2-dev libutf8proc-dev libprotozero-dev libsentencepiece-dev python3-jsonschema "$@")
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

echo "Installing ${missing[*]}"
root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "error: installing packages takes root or sudo" >&2; exit 1; }
  root=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
"${root[@]}" apt-get -qq update
"${root[@]}" apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null
