#!/usr/bin/env python3
"""A training step of a small language model beside the same in PyTorch, on the same cores.

  scripts/bench/language_model.py [--build build] [--peer torch_peers.py] [--rounds 5] [--heads 4] [--json]

d_model 256, d_ff 1024, 4 layers, length 256, batch 8, vocab 256, AdamW, and like the peer's model causal attention
with 4 heads of 64, gelu, and one table for input and output (the peer's projections have biases too; where it has
other heads, say so with --heads): 1 rank of 2 threads, and 2 ranks of 1 thread with the batch or the model split.
Tokens and targets are the same at every step, as in the peer's script."""
import argparse
import pathlib
import random
import tempfile

import side_by_side as bench

BATCH, LENGTH, VOCAB, MODEL, HIDDEN, LAYERS = 8, 256, 256, 256, 1024, 4
WEIGHTS = LAYERS * (4 * MODEL * MODEL + 2 * MODEL * HIDDEN) + VOCAB * MODEL
SCORES = LAYERS * 2 * LENGTH * MODEL  # multiplications per token: with the keys, and of the weights with the
                                      # values
FLOPS = 3 * 2 * BATCH * LENGTH * (WEIGHTS + SCORES)  # once forward, twice backward
CASES = {"1 rank x 2 threads": (1, 2, []),
         "2 ranks x 1 thread, batch split": (2, 1, ["--mesh", "all:2", "--layout", "batch:all"]),
         "2 ranks x 1 thread, model split": (2, 1, ["--mesh", "all:2", "--layout", "vocab:all,d_ff:all,heads:all"])}


def model_options(folder, heads):
    sizes = {"batch": BATCH, "length": LENGTH, "vocab": VOCAB, "d_model": MODEL, "d_ff": HIDDEN, "layers": LAYERS,
             "heads": heads, "d_kv": MODEL // heads, "tie_embeddings": 1, "gelu": 1, "lr": 0.0001}
    options = [bench.ROOT / "models" / "transformer_lm.json"]
    for name, size in sizes.items():
        options += ["--set", f"{name}={size}"]
    for name in ("tokens", "targets"):
        bench.write_npy(folder / f"{name}.npy", [BATCH, LENGTH],
                        (random.randrange(VOCAB) for _ in range(BATCH * LENGTH)), "i")
        options += ["--input", f"{name}={folder / name}.npy"]
    return options


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    bench.add_arguments(parser)
    bench.add_peer_argument(parser)
    parser.add_argument("--heads", type=int, default=4, help="heads of attention, which d_model is cut into")
    args = parser.parse_args()
    bench.tell_settings()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = model_options(folder, args.heads)
        measures = {}
        for case, (ranks, threads, layout) in CASES.items():
            measures[case, "step"] = lambda r=ranks, t=threads, l=layout: bench.step_seconds(
                args, folder, model + l, r, t, 15)
            measures[case, "sgemm"] = lambda r=ranks, t=threads: bench.sgemm_rate(args, r, t)
        if args.peer:
            measures["peer"] = lambda: bench.peer_seconds(args, "lm_d256", 2)
        found = bench.medians(args.rounds, measures)
    figures = {case: {"step_ms": round(found[case, "step"] * 1e3, 1),
                      "gflops": round(FLOPS / found[case, "step"] * 1e-9, 1),
                      "sgemm_gflops": round(found[case, "sgemm"] * 1e-9, 1)} for case in CASES}
    if not args.peer:
        for case in CASES:
            print(f"lm_d256, {case}: {figures[case]}")
        return bench.say_skipped("lm_d256")
    peer = min(found["peer"])
    for case in CASES:
        bench.show(args, f"lm_d256, {case}", "times as fast as PyTorch", peer / found[case, "step"], 1.3,
                   peer_ms=round(peer * 1e3, 1), **figures[case])


if __name__ == "__main__":
    main()
