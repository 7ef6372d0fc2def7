#!/usr/bin/env bash
# Sets up and shows mtfc at work: trains a digit classifier on a mesh of two ranks, compares three layouts, then
# trains a small language model on the README and evaluates it on the README's last tenth.
#   scripts/demo.sh [FOLDER]     FOLDER: one with MNIST's ...images-idx3-ubyte[.gz] and ...labels-idx1-ubyte[.gz];
#                                without it, a few hundred drawn digits from testdata/digits are used
set -euo pipefail
folder=$(realpath "${1:-$(dirname "$0")/../testdata/digits}")
cd "$(dirname "$0")/.."

find_one() {
  local found
  found=$(find -L "$folder" -maxdepth 1 -name "$1" | sort | tail -n 1)
  [ -n "$found" ] || { echo "error: no $1 in $folder" >&2; exit 1; }
  echo "$found"
}
images=$(find_one '*images-idx3-ubyte*')
labels=$(find_one '*labels-idx1-ubyte*')

scripts/build.sh

rows=$(gzip -dcf "$labels" | wc -c)
rows=$((rows - 8))
held_out=$((rows / 10 / 100 * 100))
[ "$held_out" -ge 100 ] || held_out=100
train=$((rows - held_out))

show() { printf '\n$ %s\n' "$*"; "$@"; }
show build/mtfc run models/mnist.json --mesh all:2 --layout batch:all --steps 300 --set lr=0.2 \
  --input "images=idx:$images,rows=0:$train,scale=1/255" --input "labels=idx:$labels,rows=0:$train" \
  --valid "images=idx:$images,rows=$train:$rows,scale=1/255" --valid "labels=idx:$labels,rows=$train:$rows"
show build/mtfc cost-report models/mnist.json --mesh all:4 --layout batch:all --mesh all:4 --layout hidden:all \
  --mesh rows:2,cols:2 --layout batch:rows,hidden:cols

# The labels are the byte after each window of 16. The run evaluates the held-out tenth every 100 steps into the log.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
show build/mtfc run models/byte_mlp.json --mesh all:2 --layout batch:all --steps 300 --metrics "$log" --valid-every 100 \
  --input bytes=text:README.md,split=train --input labels=text:README.md,shift=length,split=train \
  --valid bytes=text:README.md,split=valid --valid labels=text:README.md,shift=length,split=valid
printf '\nnats per byte, of the batch and of the held-out tenth (guessing at random: %s)\n' 5.545
sed -n 's|.*"step":\([0-9]*\),"loss":\([0-9.]*\),.*"valid/loss":\([0-9.]*\),.*|step \1  loss \2  valid/loss \3|p' "$log"
