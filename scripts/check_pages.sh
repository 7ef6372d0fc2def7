#!/usr/bin/env bash
# Checks pages that mtfc has written: opens each in a browser, in light and dark and as wide as a desktop and a phone, and
# looks for what keeps people from reading it (the rules of axe-core, content wider than the screen) and for tables that the
# keyboard does not sort or filter.
#   scripts/check_pages.sh PAGE.html...
set -euo pipefail
[ $# -gt 0 ] || { sed -n '2,5s/^# *//p' "$0" >&2; exit 2; }
scripts=$(cd "$(dirname "$0")" && pwd)

"$scripts/install_packages.sh" chromium
command -v npm >/dev/null || "$scripts/install_packages.sh" npm
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --prefix "$folder" --silent --no-audit --no-fund axe-core@4 playwright-core@1
cp "$scripts/check_pages.mjs" "$folder"
CHROMIUM=$(command -v chromium) node "$folder/check_pages.mjs" "$@"
