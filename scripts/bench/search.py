#!/usr/bin/env python3
"""The layout that `mtfc search` finds beside layouts written by hand, measured in turn on this machine.

    scripts/bench/search.py build/mtfc [--steps 20] [--rounds 5] [--models two_layer mnist] [--meshes all:2]
                            [--profile MESH=FILE.json]

Calibrates for each mesh first, unless --profile (repeatable) names what `mtfc calibrate` has written for it. Prints the
median step time of each layout, without its inputs, and the ratio of the found one's to it; exit 1 where the found
layout is more than 5 % slower than one written by hand. Give the machine no other work meanwhile.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

MODELS = pathlib.Path(__file__).resolve().parents[2] / "models"
SLOWER = 1.05
SMALL_LM = [word for size in ("layers=2", "batch=8", "length=64", "d_model=128", "d_ff=512", "heads=4", "d_kv=32",
                              "vocab=1024") for word in ("--set", size)]
MNIST_DATA = ["images=random:uniform", "labels=random:int,lo=0,hi=10"]
SPLIT_LM = "vocab:{0},d_ff:{0},heads:{0}"
# Model: its options, sources of data, the dimensions that split the model. The layouts by hand are those of
# models/layouts: the batch, the model, and on two axes both, either way round.
CASES = {
    "two_layer": ([], [], "hidden:{0}"),
    "mnist": ([], MNIST_DATA, "hidden:{0}"),
    "char_lm": ([], [], SPLIT_LM),
    "transformer_lm": (SMALL_LM, [], SPLIT_LM),
}
MESHES = ["all:2", "all:4", "rows:2,cols:2"]


def call(*words):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))} failed:\n{done.stderr}")


def layouts_by_hand(model, mesh):
    split = CASES[model][2]
    axes = [axis.split(":")[0] for axis in mesh.split(",")]
    if len(axes) == 1:
        return [f"batch:{axes[0]}", split.format(axes[0])]
    rows, cols = axes
    return [f"batch:{rows},{split.format(cols)}", f"batch:{cols},{split.format(rows)}",
            f"batch:{rows}+{cols}", split.format(f"{rows}+{cols}")]


def rules_text(layout):
    return ",".join(f"{dim}:{'+'.join([axes] if isinstance(axes, str) else axes)}" for dim, axes in layout["rules"])


def found_layout(mtfc, folder, model, mesh, profile):
    file = folder / "found.json"
    call(mtfc, "search", MODELS / f"{model}.json", *CASES[model][0], "--mesh", mesh, "--hardware", profile, "-q", "-o", file)
    return rules_text(json.loads(file.read_text()))


def measured(mtfc, folder, model, mesh, layout, steps):
    options, inputs, _ = CASES[model]
    file = folder / "measured.json"
    data = [word for source in inputs for word in ("--input", source)]
    call(mtfc, "run", MODELS / f"{model}.json", *options, *data, "--mesh", mesh, "--layout", layout, "-q", "--steps", steps,
         "--report", file)
    report = json.loads(file.read_text())
    time = report["run"]["time"]
    return time["seconds_per_step"] - time["input_seconds"]


def predicted(mtfc, folder, model, mesh, layout, profile):
    file = folder / "predicted.json"
    call(mtfc, "cost-report", MODELS / f"{model}.json", *CASES[model][0], "--mesh", mesh, "--layout", layout, "-q",
         "--hardware", profile, "--format", "json", "-o", file)
    return json.loads(file.read_text())["time"]["step_s"]


def compare(options, folder, model, mesh, profile):
    """Prints a row per layout. Returns the found layout's time over that of the fastest by hand."""
    found = found_layout(options.mtfc, folder, model, mesh, profile)
    layouts = list(dict.fromkeys([found, *layouts_by_hand(model, mesh)]))
    samples = {layout: [] for layout in layouts}
    for _ in range(options.rounds):
        for layout in layouts:
            samples[layout].append(measured(options.mtfc, folder, model, mesh, layout, options.steps))
    seconds = {layout: statistics.median(times) for layout, times in samples.items()}
    for layout in layouts:
        expected = predicted(options.mtfc, folder, model, mesh, layout, profile)
        print(f"{model:<16} {mesh:<14} {layout:<42} {expected * 1e3:8.2f} ms {seconds[layout] * 1e3:8.2f} ms  "
              f"{'found' if layout == found else f'{seconds[found] / seconds[layout]:.3f}'}", flush=True)
    return max([1.0] + [seconds[found] / seconds[layout] for layout in layouts if layout != found])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mtfc")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--models", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--meshes", nargs="+", default=MESHES)
    parser.add_argument("--profile", action="append", default=[], metavar="MESH=FILE.json")
    options = parser.parse_args()
    profiles = dict(given.split("=", 1) for given in options.profile)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for number, mesh in enumerate(mesh for mesh in options.meshes if mesh not in profiles):
            profiles[mesh] = folder / f"mesh_{number}.json"
            call(options.mtfc, "calibrate", "-q", "--mesh", mesh, "-o", profiles[mesh])
        print(f"{'model':<16} {'mesh':<14} {'layout':<42} {'predicted':>11} {'measured':>11}  found/this")
        worst = max(compare(options, folder, model, mesh, profiles[mesh])
                    for model in options.models for mesh in options.meshes)
    print(f"worst: {worst:.3f}, at most {SLOWER} wanted")
    return 0 if worst <= SLOWER else 1


if __name__ == "__main__":
    sys.exit(main())
