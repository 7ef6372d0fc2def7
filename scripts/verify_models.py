#!/usr/bin/env python3
"""Runs `mtfc verify` for every bundled model under every bundled layout, several meshes and random layouts, in f32,
f64 and bf16, and prints what differs.

  scripts/verify_models.py [--random N] [--only-random] [--seed S] [--jobs N] [--mtfc FILE] [MODEL...]

The models are made small. A layout that a model does not have the dimensions for, or that is not legal for it, is left
out. The exit code is 1 if a run fails, and the last line counts the runs.
"""

import argparse
import concurrent.futures
import itertools
import json
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRANSFORMER = {"layers": 2, "d_model": 24, "d_ff": 30, "heads": 4, "d_kv": 6, "vocab": 37, "batch": 6, "length": 10}
SIZES = {
    "two_layer": {"batch": 20, "io": 14, "hidden": 33},
    "mnist": {"batch": 20, "rows": 7, "cols": 7, "hidden": 33},
    "byte_mlp": {"batch": 20, "d_model": 12, "d_ff": 40, "length": 6},
    "char_lm": {**TRANSFORMER, "vocab": 37},
    "transformer_lm": TRANSFORMER,
    "transformer_encdec": TRANSFORMER,
    "gpt2": {**TRANSFORMER, "positions": 12},
}
# Further variants of a model.
VARIANTS = {
    "transformer_lm": [{"gelu": 1, "tie_embeddings": 1}, {"dropout": 0.2, "smoothing": 0.1, "z_loss": 0.01}],
    "transformer_encdec": [{"tie_embeddings": 1, "dropout": 0.2}],
    "char_lm": [{"beam": 2, "dropout": 0.1}],
    "gpt2": [{"dropout": 0.1}],
}
DTYPES = ["f32", "f64", "bf16"]
MESHES = ["p:2", "p:3", "p:4", "p:2,q:2", "p:4,q:2", "p:3,q:2", "p:2,q:2,r:2"]


def run(mtfc, model, sets, layout, dtype, steps):
    command = [mtfc, "verify", str(ROOT / "models" / f"{model}.json"), "-q", "--steps", str(steps), *layout]
    for name, value in sets.items():
        command += ["--set", f"{name}={value}"]
    command += ["--dtype", dtype]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=1200)
    return command, done.returncode, done.stdout + done.stderr


def axes_of(mesh):
    return [axis.split(":")[0] for axis in mesh.split(",")]


def dims_of(model):
    return [name for name in json.loads((ROOT / "models" / f"{model}.json").read_text())["dims"] if name != "beam"]


def random_layout(model, chance):
    mesh = chance.choice(MESHES)
    dims = dims_of(model)
    chance.shuffle(dims)
    parts = [[axis] for axis in axes_of(mesh)]
    if len(parts) > 1 and chance.random() < 0.3:
        parts = [sum(parts, [])]
    rules = [f"{dims.pop()}:{'+'.join(axes)}" for axes in parts for _ in range(chance.choice([1, 1, 2])) if dims]
    return ["--mesh", mesh, "--layout", ",".join(rules)]


def systematic_layouts(model):
    for file in sorted((ROOT / "models" / "layouts").glob("*.json")):
        yield ["--layout", str(file)]
    dims = dims_of(model)
    for dim in dims:
        yield ["--mesh", "p:2", "--layout", f"{dim}:p"]
        yield ["--mesh", "p:3", "--layout", f"{dim}:p"]
    for first, second in zip(dims, dims[1:]):
        yield ["--mesh", "p:2,q:2", "--layout", f"{first}:p,{second}:q"]
    # Those of the documents.
    yield ["--mesh", "p:2,q:2", "--layout", "batch:p,heads:q,d_ff:q,vocab:q"]
    yield ["--mesh", "p:2,q:2", "--layout", "batch:p+q"]
    yield ["--mesh", "p:4,q:2", "--layout", "batch:q,hidden:p"]


def systematic_cases(models):
    for model in models:
        for variant in [{}] + VARIANTS.get(model, []):
            for layout in systematic_layouts(model):
                for dtype in DTYPES:
                    yield model, {**SIZES[model], **variant}, layout, dtype, 1


def random_cases(models, seed):
    chance = random.Random(seed)
    while True:
        for model in models:
            variant = chance.choice([{}] + VARIANTS.get(model, []))
            steps = chance.choice([1, 1, 3])
            yield model, {**SIZES[model], **variant}, random_layout(model, chance), chance.choice(DTYPES), steps


class Count:
    """Runs cases, and prints those that fail."""

    def __init__(self, mtfc, jobs):
        self.mtfc, self.pool = mtfc, concurrent.futures.ThreadPoolExecutor(jobs)
        self.passed = self.failed = self.illegal = 0

    def run(self, cases):
        for command, code, text in self.pool.map(lambda case: run(self.mtfc, *case), cases):
            if code == 0:
                self.passed += 1
            elif code == 2:
                self.illegal += 1  # the layout is not legal for the model
            else:
                self.failed += 1
                print(" ".join(command), text, sep="\n", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--random", type=int, default=200, help="number of random layouts that are legal")
    parser.add_argument("--only-random", action="store_true", help="leave out the bundled layouts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--mtfc", default=str(ROOT / "build" / "mtfc"))
    parser.add_argument("models", nargs="*", metavar="MODEL", help="names of bundled models")
    arguments = parser.parse_args()
    models = arguments.models or sorted(SIZES)
    count = Count(arguments.mtfc, arguments.jobs)
    if not arguments.only_random:
        count.run(systematic_cases(models))
        print(f"bundled and systematic layouts: {count.passed} passed, {count.failed} failed", flush=True)
    cases = random_cases(models, arguments.seed)
    wanted = count.passed + count.failed + arguments.random
    while count.passed + count.failed < wanted:
        missing = wanted - count.passed - count.failed
        count.run(itertools.islice(cases, missing))
    print(f"{count.passed} passed, {count.failed} failed, {count.illegal} layouts not legal for their model")
    return 1 if count.failed or not count.passed else 0


if __name__ == "__main__":
    sys.exit(main())
