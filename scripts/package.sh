#!/usr/bin/env bash
# Makes a Debian package of mtfc, with man pages and completion scripts, and prints its path.
#   scripts/package.sh [FOLDER]      FOLDER of the build, build by default; the package is written there
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_packages.sh dpkg-dev file >&2
folder=${1:-build}
scripts/build.sh "$folder" >&2
rm -f "$folder"/mtfc_*.deb
# The modes of files in the package do not depend on the umask of whoever makes it.
(umask 022 && cd "$folder" && cpack -G DEB >cpack.log) || { cat "$folder/cpack.log" >&2; exit 1; }
realpath "$folder"/mtfc_*.deb
