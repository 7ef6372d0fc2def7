#!/usr/bin/env python3
"""Trains models/transformer_encdec.json to copy and to reverse sequences, and checks what it translates.

  scripts/learn_to_reverse.py [--mtfc build/mtfc] [--folder DIR] [--ranks 2] [--steps 4000] [--rows 40000]
                              [--held-out 500] [--compared 60] [--seed 1]

A source is a command, copy or reverse, followed by 3 to 20 symbols; its translation is these symbols in the order
that the command says, and an end. No sequence that is held out is trained on. After the training:

 - `mtfc generate` translates the held-out sources, greedily and with 4 beams; the share of exact matches is printed.
 - The first of them are also translated without caches and without a mesh: `mtfc run --evaluate` computes the logits
   of all positions anew for each token, and this script chooses the tokens. `mtfc generate` must find the same
   translations on 1, 2 and 4 ranks.

Exits with 1 if translations differ, or if less than 95 % match. Needs nothing but Python. An existing training in the
folder is used, and continued if it has fewer steps."""
import argparse
import array
import json
import math
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
MODEL = ROOT / "models" / "transformer_encdec.json"
PADDING, END, COPY, REVERSE, FIRST_SYMBOL = 0, 1, 2, 3, 4
SYMBOLS = 32
SHORTEST, LONGEST = 3, 20
LENGTH = LONGEST + 1
SIZES = {"layers": 2, "d_model": 128, "d_ff": 256, "heads": 4, "d_kv": 32, "vocab": FIRST_SYMBOL + SYMBOLS,
         "length": LENGTH, "batch": 64, "lr": 0.001, "warmup": 500, "smoothing": 0, "weight_decay": 0}
BEAMS, ALPHA = 4, 0.6
LAYOUTS = {1: [], 2: ["--mesh", "a:2", "--layout", "batch:a"],
           4: ["--mesh", "a:2,b:2", "--layout", "batch:a,heads:b,d_ff:b,vocab:b"]}


def pairs(count, rng, known):
    """Draws sources that are not among `known`, and their translations."""
    drawn = []
    while len(drawn) < count:
        symbols = [FIRST_SYMBOL + rng.randrange(SYMBOLS) for _ in range(rng.randint(SHORTEST, LONGEST))]
        command = rng.choice((COPY, REVERSE))
        source = (command, *symbols)
        if source in known:
            continue
        known.add(source)
        drawn.append((list(source), (symbols if command == COPY else symbols[::-1]) + [END]))
    return drawn


def write_rows(path, rows):
    """Writes rows of tokens as a .npy file, filled up with padding."""
    data = array.array("i")
    for row in rows:
        data.extend(row + [PADDING] * (LENGTH - len(row)))
    header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({len(rows)}, {LENGTH}), }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data.tobytes())


def read_logits(path):
    """Reads a .npy file of f32 of three dimensions, as a function of the first two."""
    data = path.read_bytes()
    size = struct.unpack("<H", data[8:10])[0]
    shape = [int(n) for n in re.search(r"\(([^)]*)\)", data[10:10 + size].decode()).group(1).split(",") if n.strip()]
    numbers = array.array("f", data[10 + size:])
    return lambda i, j: numbers[(i * shape[1] + j) * shape[2]:(i * shape[1] + j + 1) * shape[2]]


class Mtfc:
    def __init__(self, binary, folder):
        self.binary, self.folder, self.checkpoint = binary, folder, folder / "checkpoint"

    def run(self, *arguments, show=False):
        command = [str(self.binary), *map(str, arguments)]
        done = subprocess.run(command, stdout=None if show else subprocess.PIPE,
                              stderr=None if show else subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr or ''}")

    def train(self, ranks, steps, train, held_out):
        inputs = []
        for option, rows in (("--input", train), ("--valid", held_out)):
            files = {"sources": [source for source, _ in rows],
                     "tokens": [[PADDING] + target[:-1] for _, target in rows],
                     "targets": [target for _, target in rows]}
            for name, each in files.items():
                path = self.folder / f"{option[2:]}_{name}.npy"
                write_rows(path, each)
                inputs += [option, f"{name}={path}"]
        sets = [word for name, value in SIZES.items() for word in ("--set", f"{name}={value}")]
        self.run("run", MODEL, *sets, "--mesh", f"all:{ranks}", "--layout", "batch:all", "--steps", steps,
                 "--valid-every", max(1, steps // 4), "--checkpoint", self.checkpoint, "--resume", *inputs, show=True)

    def translate(self, rows, ranks, options):
        """Returns the translations without their ends."""
        sources, out = self.folder / "to_translate.npy", self.folder / "translations.json"
        write_rows(sources, [source for source, _ in rows])
        self.run("generate", MODEL, "--quiet", "--checkpoint", self.checkpoint, "--input", f"sources={sources}",
                 "--stop-tokens", END, "-o", out, *options, *LAYOUTS[ranks])
        return [without_end(each["tokens"]) for each in json.loads(out.read_text())["sequences"]]

    def logits(self, sources, beginnings):
        """Returns the logits of the token after each beginning, from the whole model on one device."""
        files = {"sources": sources, "tokens": beginnings, "targets": beginnings}
        inputs = []
        for name, rows in files.items():
            path = self.folder / f"now_{name}.npy"
            write_rows(path, rows)
            inputs += ["--input", f"{name}={path}"]
        out = self.folder / "logits.npy"
        self.run("run", MODEL, "--quiet", "--evaluate", "--load", self.checkpoint, "--set", f"batch={len(sources)}",
                 "--output", f"logits={out}", *inputs)
        at = read_logits(out)
        return [at(i, len(beginning) - 1) for i, beginning in enumerate(beginnings)]


def without_end(tokens):
    return tokens[:-1] if tokens and tokens[-1] == END else tokens


def log_softmax(logits):
    top = max(logits)
    log_sum = top + math.log(math.fsum(math.exp(x - top) for x in logits))
    return [x - log_sum for x in logits]


def greedy_reference(mtfc, rows):
    found = [[PADDING] for _ in rows]
    for _ in range(LENGTH):
        left = [i for i, tokens in enumerate(found) if tokens[-1] != END and len(tokens) <= LENGTH]
        if not left:
            break
        for i, logits in zip(left, mtfc.logits([rows[i][0] for i in left], [found[i] for i in left])):
            found[i].append(max(range(len(logits)), key=lambda token: logits[token]))
    return [without_end(tokens[1:]) for tokens in found]


def beam_reference(mtfc, rows):
    """Keeps the likeliest beginnings of each translation; ranks what is complete by its normalized score."""
    live = [[(0.0, [PADDING])] for _ in rows]
    complete = [[] for _ in rows]
    for step in range(1, LENGTH + 1):
        flat = [(i, total, tokens) for i, beams in enumerate(live) for total, tokens in beams]
        if not flat:
            break
        found = mtfc.logits([rows[i][0] for i, _, _ in flat], [tokens for _, _, tokens in flat])
        longer = [[] for _ in rows]
        for (i, total, tokens), logits in zip(flat, found):
            longer[i] += [(total + p, tokens + [token]) for token, p in enumerate(log_softmax(logits))]
        for i, candidates in enumerate(longer):
            candidates.sort(key=lambda candidate: -candidate[0])
            live[i] = []
            for total, tokens in candidates[:2 * BEAMS]:
                if tokens[-1] == END or step == LENGTH:
                    complete[i].append((total / ((5 + step) / 6) ** ALPHA, tokens))
                elif len(live[i]) < BEAMS:
                    live[i].append((total, tokens))
    return [without_end(max(each)[1][1:]) for each in complete]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mtfc", type=pathlib.Path, default=ROOT / "build" / "mtfc")
    parser.add_argument("--folder", type=pathlib.Path, help="keeps the data and the checkpoint here")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--rows", type=int, default=40000, help="number of sequences to train on")
    parser.add_argument("--held-out", type=int, default=500)
    parser.add_argument("--compared", type=int, default=60, help="translations compared with those without caches")
    parser.add_argument("--least", type=float, default=95, help="percent of exact matches")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.folder or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        # A checkpoint in the folder may have been trained on what another draw would hold out.
        draw, drawn = json.dumps([args.seed, args.rows, args.held_out]), folder / "draw.json"
        if drawn.exists() and drawn.read_text() != draw:
            raise SystemExit(f"{folder} holds a training with other data: seed, rows, held-out were {drawn.read_text()}")
        drawn.write_text(draw)
        rng, known = random.Random(args.seed), set()
        held_out = pairs(args.held_out, rng, known)
        mtfc = Mtfc(args.mtfc, folder)
        start = time.monotonic()
        mtfc.train(args.ranks, args.steps, pairs(args.rows, rng, known), held_out)
        print(f"training on {args.ranks} ranks: {time.monotonic() - start:.0f} s", flush=True)
        wrong = 0
        compared = held_out[:args.compared]
        searches = {"greedy": (["--greedy"], greedy_reference),
                    f"{BEAMS} beams": (["--beams", BEAMS, "--length-penalty", ALPHA], beam_reference)}
        for name, (options, reference) in searches.items():
            start = time.monotonic()
            found = mtfc.translate(held_out, 1, options)
            seconds = time.monotonic() - start
            right = sum(tokens == target[:-1] for tokens, (_, target) in zip(found, held_out))
            percent = 100 * right / len(held_out)
            print(f"{name}: {right} of {len(held_out)} held-out sequences match exactly, {percent:.1f} %, "
                  f"in {seconds:.1f} s", flush=True)
            wrong += percent < args.least
            expected = reference(mtfc, compared)
            for ranks in LAYOUTS:
                same = sum(a == b for a, b in zip(mtfc.translate(compared, ranks, options), expected))
                print(f"{name}, {ranks} rank{'s' if ranks > 1 else ''}: {same} of {len(compared)} equal the uncached, "
                      f"unsplit ones", flush=True)
                wrong += same != len(compared)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
