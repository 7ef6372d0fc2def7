#!/usr/bin/env python3
"""Causal attention, forward and backward, beside PyTorch's scores, softmax and values; and the memory that it takes.

  scripts/bench/attention.py [--build build] [--peer attention_peer.py] [--rounds 5] [--timed 2048,4096] [--json]

8 heads of 64, one sequence of 2,048 or 4,096 positions, on 1 rank of 2 threads. Queries, keys and values are variables, so a
step has their gradients and a plain update."""
import argparse
import json
import pathlib
import tempfile

import side_by_side as bench

HEADS, INNER, LENGTHS = 8, 64, (2048, 4096)


def model(length):
    variable = {"dims": ["heads", "length", "inner"], "init": {"normal": 1}}
    memory = {"dims": ["heads", "memory", "inner"], "init": {"normal": 1}}
    return {"mtfc": 1, "name": "attention",
            "dims": {"heads": HEADS, "length": length, "memory": length, "inner": INNER},
            "variables": {"q": variable, "k": memory, "v": memory},
            "ops": [{"out": ["o", "total"], "op": "attention", "in": ["q", "k", "v"], "over": "memory", "dim": "inner",
                     "positions": "length", "causal": True, "scale": INNER**-0.5},
                    {"out": "loss", "op": "reduce_mean", "in": {"op": "square", "in": "o"}}],
            "outputs": ["loss"], "train": {"loss": "loss", "optimizer": {"kind": "sgd", "lr": 1e-3}}}


def peak_bytes(args, path):
    report = bench.output_of([bench.program(args, "mtfc"), "cost-report", path, "--format", "json"])
    return json.loads(report)["layouts"][0]["memory"]["peak_bytes_per_device"]


def peer_seconds(args, length):
    """Batched products, and products of a head at a time, by two settings of the peer's thread pools."""
    return bench.peer_seconds(args, str(length), 2) + bench.peer_seconds(args, str(length), 2, ["--by-head"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    bench.add_arguments(parser)
    bench.add_peer_argument(parser)
    parser.add_argument("--timed", default="2048,4096", help="the lengths that are timed; PyTorch takes minutes for 4096")
    args = parser.parse_args()
    timed = [length for length in LENGTHS if str(length) in args.timed.split(",")]
    bench.tell_settings()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        paths = {length: folder / f"attention_{length}.json" for length in LENGTHS}
        measures = {}
        for length, path in paths.items():
            path.write_text(json.dumps(model(length)))
            if length not in timed:
                continue
            measures[length] = lambda p=path: bench.step_seconds(args, folder, [p], 1, 2, 5)
            if args.peer:
                measures["peer", length] = lambda n=length: peer_seconds(args, n)
        found = bench.medians(args.rounds, measures)
        peaks = [peak_bytes(args, paths[length]) for length in LENGTHS]
    for length in timed:
        if not args.peer:
            print(f"length {length}: {found[length] * 1e3:.1f} ms")
            bench.say_skipped("attention")
            continue
        peer = min(found["peer", length])
        bench.show(args, f"attention, length {length}", "times as fast as PyTorch", peer / found[length], 2,
                   step_ms=round(found[length] * 1e3, 1), peer_ms=round(peer * 1e3, 1))
    bench.show(args, "memory of attention, twice the length", "times the memory", peaks[1] / peaks[0], 2.1, least=False,
               mib=[round(peak / 2**20, 1) for peak in peaks])


if __name__ == "__main__":
    main()
