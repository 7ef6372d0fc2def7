#!/usr/bin/env python3
"""Training steps of language models beside the same in PyTorch, on the same cores.

  scripts/bench/language_model.py [--build build] [--peer torch_peers.py] [--rounds 5] [--only lm_d256,lm_d512,gpt2_124m]
                                  [--dtype bf16] [--json]

As in the peer's models: causal attention with heads of 64, gelu, AdamW, and one table for input and output (the peer's
projections have biases too). Each runs on 1 rank of 2 threads; the smallest one also on 2 ranks of 1 thread with the batch
or the model split. Tokens and targets are the same at every step, as in the peer's script.
The peer computes in f32, whatever --dtype says."""
import argparse
import pathlib
import random
import tempfile

import side_by_side as bench

# batch, length, vocab, d_model, layers, training steps that are timed, and the ratio to reach
MODELS = {"lm_d256": (8, 256, 256, 256, 4, 15, 1.5),
          "lm_d512": (8, 256, 8192, 512, 6, 5, 1.4),
          "gpt2_124m": (4, 64, 50257, 768, 12, 5, 1.5)}
WHOLE = (1, 2, [])  # ranks, threads of each, options
SPLIT = {"2 ranks x 1 thread, batch split": (2, 1, ["--mesh", "all:2", "--layout", "batch:all"]),
         "2 ranks x 1 thread, model split": (2, 1, ["--mesh", "all:2", "--layout", "vocab:all,d_ff:all,heads:all"])}


def flops(name):
    """The flops of the products of a step: once forward, twice backward."""
    batch, length, vocab, d_model, layers, _, _ = MODELS[name]
    weights = layers * 12 * d_model * d_model + vocab * d_model
    scores = layers * 2 * length * d_model  # multiplications per token: with the keys, and of the weights with the values
    return 3 * 2 * batch * length * (weights + scores)


def model_options(folder, name):
    batch, length, vocab, d_model, layers, _, _ = MODELS[name]
    sizes = {"batch": batch, "length": length, "vocab": vocab, "d_model": d_model, "d_ff": 4 * d_model, "layers": layers,
             "heads": d_model // 64, "d_kv": 64, "tie_embeddings": 1, "gelu": 1, "lr": 0.0001}
    options = [bench.ROOT / "models" / "transformer_lm.json"]
    for key, size in sizes.items():
        options += ["--set", f"{key}={size}"]
    for key in ("tokens", "targets"):
        path = folder / f"{name}_{key}.npy"
        bench.write_npy(path, [batch, length], (random.randrange(vocab) for _ in range(batch * length)), "i")
        options += ["--input", f"{key}={path}"]
    return options


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    bench.add_arguments(parser)
    bench.add_peer_argument(parser)
    parser.add_argument("--only", default=",".join(MODELS))
    parser.add_argument("--dtype", default="f32", choices=["f32", "bf16"])
    args = parser.parse_args()
    names = args.only.split(",")
    if unknown := [name for name in names if name not in MODELS]:
        parser.error(f"unknown model {unknown[0]} (the models are {', '.join(MODELS)})")
    cases = {(name, case): how for name in names
             for case, how in ({"1 rank x 2 threads": WHOLE} | (SPLIT if name == "lm_d256" else {})).items()}
    bench.tell_settings()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        options = {name: model_options(folder, name) + ["--dtype", args.dtype] for name in names}
        measures = {}
        for (name, case), (ranks, threads, layout) in cases.items():
            measures[name, case] = lambda n=name, r=ranks, t=threads, l=layout: bench.step_seconds(
                args, folder, options[n] + l, r, t, MODELS[n][5])
            measures["sgemm", ranks] = lambda r=ranks, t=threads: bench.sgemm_rate(args, r, t)
        if args.peer:
            for name in names:
                measures["peer", name] = lambda n=name: bench.peer_seconds(args, n, 2)
        found = bench.medians(args.rounds, measures)
    for (name, case), (ranks, _, _) in cases.items():
        rate, sgemm = flops(name) / found[name, case], found["sgemm", ranks]
        figures = {"step_ms": round(found[name, case] * 1e3, 1), "gflops": round(rate * 1e-9, 1),
                   "sgemm_gflops": round(sgemm * 1e-9, 1), "of_sgemm": round(rate / sgemm, 3)}
        if args.peer:
            peer = min(found["peer", name])
            bench.show(args, f"{name}, {case}", "times as fast as PyTorch", peer / found[name, case], MODELS[name][6],
                       peer_ms=round(peer * 1e3, 1), **figures)
        else:
            print(f"{name}, {case}: {figures}")
            bench.say_skipped(name)


if __name__ == "__main__":
    main()
