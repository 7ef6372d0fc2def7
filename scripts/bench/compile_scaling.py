#!/usr/bin/env python3
"""Times `mtfc compile` of a 1000-layer perceptron with gradients for a mesh of 2 and of 2048 devices, in alternation.

  scripts/bench/compile_scaling.py [--mtfc build/mtfc] [--layers 1000] [--runs 20]

Prints the medians, their ratio, and the number of steps of either program."""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import tempfile
import time


def perceptron(layers):
    """Layers alternate between the widths h0 and h1, so that splitting one of them splits every matrix once."""
    variables, ops, previous = {}, [], "x"
    for i in range(layers):
        a, b = ("h0", "h1") if i % 2 == 0 else ("h1", "h0")
        variables[f"w{i}"] = {"dims": [a, b], "init": {"normal": 0.02}}
        variables[f"b{i}"] = {"dims": [b], "init": "zeros"}
        product = {"op": "einsum", "in": [previous, f"w{i}"], "over": a}
        ops.append({"out": f"y{i}", "op": "relu", "in": {"op": "add", "in": [product, f"b{i}"]}})
        previous = f"y{i}"
    ops.append({"out": "loss", "op": "reduce_mean", "in": {"op": "square", "in": previous}})
    return {"mtfc": 1, "dims": {"batch": 4096, "h0": 2048, "h1": 2048}, "inputs": {"x": {"dims": ["batch", "h0"]}},
            "variables": variables, "ops": ops, "outputs": ["loss"],
            "train": {"loss": "loss", "optimizer": {"kind": "sgd", "lr": 0.1}}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mtfc", default=str(pathlib.Path(__file__).parents[2] / "build" / "mtfc"))
    parser.add_argument("--layers", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=20)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "perceptron.json"
        model.write_text(json.dumps(perceptron(args.layers)))
        for layout, small, large in (("batch:a", "a:2", "a:2048"), ("batch:a,h0:b", "a:2,b:2", "a:32,b:64")):
            commands = {mesh: [args.mtfc, "compile", str(model), "--mesh", mesh, "--layout", layout]
                        for mesh in (small, large)}
            steps = {mesh: re.findall(r"^train: (\d+) steps", subprocess.run(
                command, capture_output=True, text=True, check=True).stdout, re.M)[0] for mesh, command in commands.items()}
            times = {mesh: [] for mesh in commands}
            for _ in range(args.runs):
                for mesh, command in commands.items():
                    start = time.perf_counter()
                    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
                    times[mesh].append(time.perf_counter() - start)
            a, b = (statistics.median(times[mesh]) for mesh in (small, large))
            print(f"{layout}: {small} {a:.3f} s, {steps[small]} steps; {large} {b:.3f} s, {steps[large]} steps; "
                  f"ratio {b / a:.3f}")


if __name__ == "__main__":
    main()
