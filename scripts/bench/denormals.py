#!/usr/bin/env python3
"""Training steps whose activations and gradients are denormal, or 0 once flushed, beside usual ones.

  scripts/bench/denormals.py [--build build] [--rounds 5] [--json]

Products may leave out rows of zeros, so the first kind may be the faster one. Two layers of 1,024 with GELU and AdamW, 256 rows, on 1 rank of 2 threads."""
import argparse
import json
import pathlib
import tempfile

import side_by_side as bench

MODEL = {
    "mtfc": 1,
    "name": "scaled",
    "params": {"scale": 1.0},
    "dims": {"batch": 256, "pixels": 1024, "hidden": 1024, "classes": 512},
    "inputs": {"x": {"dims": ["batch", "pixels"]}},
    "variables": {"w1": {"dims": ["pixels", "hidden"], "init": {"normal": 0.03}},
                  "w2": {"dims": ["hidden", "classes"], "init": {"normal": 0.03}}},
    "ops": [
        {"out": "scaled", "op": "mul", "in": ["x", {"expr": "scale"}]},
        {"out": "product", "op": "einsum", "in": ["scaled", "w1"], "over": ["pixels"]},
        {"out": "hidden_y", "op": "gelu", "in": ["product"]},
        {"out": "y", "op": "einsum", "in": ["hidden_y", "w2"], "over": ["hidden"]},
        {"out": "squares", "op": "square", "in": ["y"]},
        {"out": "loss", "op": "reduce_mean", "in": ["squares"]},
    ],
    "outputs": ["loss"],
    "train": {"loss": "loss", "optimizer": {"kind": "adamw", "lr": 1e-3}},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    bench.add_arguments(parser)
    args = parser.parse_args()
    bench.tell_settings()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path = folder / "scaled.json"
        path.write_text(json.dumps(MODEL))
        measures = {scale: lambda s=scale: bench.step_seconds(
            args, folder, [path, "--set", f"scale={s}", "--input", "x=random:normal"], 1, 2, 20)
                    for scale in ("1.0", "1e-39")}
        found = bench.medians(args.rounds, measures)
    usual, denormal = found["1.0"], found["1e-39"]
    bench.show(args, "a step with denormal numbers", "of the time of a usual step", denormal / usual, 1.1, least=False,
               usual_ms=round(usual * 1e3, 2), denormal_ms=round(denormal * 1e3, 2))


if __name__ == "__main__":
    main()
