#!/usr/bin/env bash
# Sets mtfc up and shows it at work: trains a digit classifier on a mesh of two ranks, compares three layouts,
# then trains a small Transformer on a text for about a minute, saves it, and lets it write.
#   scripts/demo.sh [TEXT] [FOLDER]    TEXT: a file to learn from (default: the project's own documents)
#                                      FOLDER: one with MNIST's ...images-idx3-ubyte[.gz] and
#                                      ...labels-idx1-ubyte[.gz] (default: a few hundred drawn digits)
set -euo pipefail
text= folder=$(dirname "$0")/../testdata/digits
for given in "$@"; do
  if [ -d "$given" ]; then folder=$given; elif [ -f "$given" ]; then text=$(realpath "$given"); else
    echo "error: there is no file or folder $given" >&2; exit 2
  fi
done
folder=$(realpath "$folder")
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

# A Transformer reads windows of 128 bytes and predicts each byte from those before it; the last tenth is held
# out.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "$text" ]; then
  cat README.md formats/*.md models/README.md >"$work/text"
  text=$work/text
fi
checkpoints=build/demo_checkpoints
rm -rf "$checkpoints"
show build/mtfc run models/char_lm.json --mesh all:2 --layout batch:all --steps 500 --set steps=500 \
  --metrics "$work/log" --valid-every 100 --checkpoint "$checkpoints" \
  --input tokens=text:"$text",split=train --input targets=text:"$text",shift=1,split=train \
  --valid tokens=text:"$text",split=valid --valid targets=text:"$text",shift=1,split=valid
show build/mtfc report "$work/log"
printf '(nats per byte, of the batch and of the held-out tenth; guessing at random: %s)\n' 5.545
prompt=$(awk 'match($0, /[A-Za-z]+ /) { print substr($0, RSTART, RLENGTH); exit }' "$text")
show build/mtfc generate models/char_lm.json --quiet --checkpoint "$checkpoints" --prompt "${prompt:-The }" --temperature 0.7
