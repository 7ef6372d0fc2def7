#!/usr/bin/env python3
"""A training step of the digit classifier (batch 100) beside the same in PyTorch, on the same cores.

  scripts/bench/mnist.py --peer torch_peers.py [--build build] [--rounds 5] [--json]

Images and labels are the same at every step, as in the peer's script."""
import argparse
import pathlib
import random
import tempfile

import side_by_side as bench

BATCH, PIXELS, CLASSES = 100, (28, 28), 10
CASES = {"1 rank x 2 threads": (1, 2, []), "1 rank x 1 thread": (1, 1, []),
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
        bench.write_npy(folder / "images.npy", [BATCH, *PIXELS],
                        (random.gauss(0, 1) for _ in range(BATCH * PIXELS[0] * PIXELS[1])))
        bench.write_npy(folder / "labels.npy", [BATCH], (random.randrange(CLASSES) for _ in range(BATCH)), "i")
        model = [bench.ROOT / "models" / "mnist.json", "--set", "lr=0.001", "--input",
                 f"images={folder / 'images.npy'}", "--input", f"labels={folder / 'labels.npy'}"]
        measures = {}
        for case, (ranks, threads, layout) in CASES.items():
            measures[case] = lambda r=ranks, t=threads, l=layout: bench.step_seconds(
                args, folder, model + l, r, t, 300)
        if args.peer:
            measures["peer"] = lambda: bench.peer_seconds(args, "mnist", 2)
        found = bench.medians(args.rounds, measures)
    if not args.peer:
        for case in CASES:
            print(f"mnist, {case}: {found[case] * 1e3:.3f} ms a step")
        return bench.say_skipped("mnist")
    peer = min(found["peer"])
    for case in CASES:
        bench.show(args, f"mnist, {case}", "times as fast as PyTorch", peer / found[case], 1.8,
                   step_ms=round(found[case] * 1e3, 3), peer_ms=round(peer * 1e3, 3))


if __name__ == "__main__":
    main()
