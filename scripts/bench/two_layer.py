#!/usr/bin/env python3
"""A training step of two fully-connected layers beside the rate of matrix products and beside PyTorch.

  scripts/bench/two_layer.py [--build build] [--peer torch_peers.py] [--rounds 5] [--json]

Batch 1024, 1024 -> 4096 -> 1024, SGD: 1 rank of 2 threads, and 2 ranks of 1 thread with the batch or the hidden layer
split. The input is the same at every step, as in the peer's script."""
import argparse
import pathlib
import random
import tempfile

import side_by_side as bench

BATCH, IO, HIDDEN = 1024, 1024, 4096
FLOPS = 5 * 2 * BATCH * IO * HIDDEN  # two products forward; for w, v and the hidden layer backward
CASES = {"1 rank x 2 threads": (1, 2, []),
         "2 ranks x 1 thread, batch split": (2, 1, ["--mesh", "all:2", "--layout", "batch:all"]),
         "2 ranks x 1 thread, hidden split": (2, 1, ["--mesh", "all:2", "--layout", "hidden:all"])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    bench.add_arguments(parser)
    bench.add_peer_argument(parser)
    args = parser.parse_args()
    bench.tell_settings()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        bench.write_npy(folder / "x.npy", [BATCH, IO], (random.gauss(0, 1) for _ in range(BATCH * IO)))
        model = [bench.ROOT / "models" / "two_layer.json", "--input", f"x={folder / 'x.npy'}", "--set", "lr=0.001"]
        measures = {}
        for case, (ranks, threads, layout) in CASES.items():
            measures[case, "step"] = lambda r=ranks, t=threads, l=layout: bench.step_seconds(
                args, folder, model + l, r, t, 7)
            measures[case, "sgemm"] = lambda r=ranks, t=threads: bench.sgemm_rate(args, r, t)
        if args.peer:
            measures["peer"] = lambda: bench.peer_seconds(args, "two_layer", 2)
        found = bench.medians(args.rounds, measures)
    for case in CASES:
        seconds, rate = found[case, "step"], found[case, "sgemm"]
        bench.show(args, f"two_layer, {case}", "of the sgemm rate", FLOPS / seconds / rate, 0.9,
                   step_ms=round(seconds * 1e3, 2), gflops=round(FLOPS / seconds * 1e-9, 1),
                   sgemm_gflops=round(rate * 1e-9, 1))
    if not args.peer:
        return bench.say_skipped("two_layer")
    peer = min(found["peer"])
    for case in CASES:
        bench.show(args, f"two_layer, {case}", "times as fast as PyTorch", peer / found[case, "step"], 1.1,
                   step_ms=round(found[case, "step"] * 1e3, 2), peer_ms=round(peer * 1e3, 2))


if __name__ == "__main__":
    main()
