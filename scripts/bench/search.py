#!/usr/bin/env python3
"""The layout that `mtfc search` finds beside layouts written by hand, measured in turn on this machine.

    scripts/bench/search.py build/mtfc [--seconds 1] [--rounds 5] [--models two_layer mnist] [--meshes all:2]
                            [--profile MESH=FILE.json]

Calibrates for each mesh first, unless --profile (repeatable) names what `mtfc calibrate` has written for it. Prints the
median step time of each layout, without its inputs, and the median over the rounds of the found one's ratio to it; exit 1
where the found layout is more than 5 % slower than one written by hand. Give the machine no other work meanwhile.
"""
import argparse
import json
import operator
import pathlib
import statistics
import sys
import tempfile

from step_time import call, measured_seconds, predicted_seconds, steps_for

MODELS = pathlib.Path(__file__).resolve().parents[2] / "models"
SLOWER = 1.05
MNIST_DATA = ["images=random:uniform", "labels=random:int,lo=0,hi=10"]
SPLIT_LM = "vocab:{0},d_ff:{0},heads:{0}"
# Model: its data sources, and the dimensions that split the model. The hand-written layouts are those of
# models/layouts: the batch, the model, and on two axes both, either way round.
CASES = {
    "two_layer": ([], "hidden:{0}"),
    "mnist": (MNIST_DATA, "hidden:{0}"),
    "char_lm": ([], SPLIT_LM),
    "transformer_lm": ([], SPLIT_LM),
}
MESHES = ["all:2", "all:4", "rows:2,cols:2"]


def layouts_by_hand(model, mesh):
    split = CASES[model][1]
    axes = [axis.split(":")[0] for axis in mesh.split(",")]
    if len(axes) == 1:
        return [f"batch:{axes[0]}", split.format(axes[0])]
    rows, cols = axes
    return [f"batch:{rows},{split.format(cols)}", f"batch:{cols},{split.format(rows)}",
            f"batch:{rows}+{cols}", split.format(f"{rows}+{cols}")]


def rules_text(layout):
    return ",".join(f"{dim}:{'+'.join([axes] if isinstance(axes, str) else axes)}" for dim, axes in layout["rules"])


def rules(layout):
    return set(layout.split(","))


def found_layout(mtfc, folder, model, mesh, profile):
    file = folder / "found.json"
    call(mtfc, "search", MODELS / f"{model}.json", "--mesh", mesh, "--hardware", profile, "-q",
         "-o", file)
    return rules_text(json.loads(file.read_text()))


def compare(options, folder, model, mesh, profile):
    """Prints a row per layout. Returns the largest ratio of the found layout's time to another."""
    found = found_layout(options.mtfc, folder, model, mesh, profile)
    layouts = [found] + [layout for layout in layouts_by_hand(model, mesh) if rules(layout) != rules(found)]
    common = [MODELS / f"{model}.json", "--mesh", mesh]
    arguments = {layout: [*common, "--layout", layout] for layout in layouts}
    expected = {layout: predicted_seconds(options.mtfc, folder, words, profile) for layout, words in arguments.items()}
    samples = {layout: [] for layout in layouts}
    for _ in range(options.rounds):
        for layout in layouts:
            steps = steps_for(options.seconds, expected[layout])
            samples[layout].append(measured_seconds(options.mtfc, folder, arguments[layout], CASES[model][0], steps))
    ratios = {layout: statistics.median(map(operator.truediv, samples[found], samples[layout])) for layout in layouts}
    for layout in layouts:
        print(f"{model:<16} {mesh:<14} {layout:<42} {expected[layout] * 1e3:8.2f} ms "
              f"{statistics.median(samples[layout]) * 1e3:8.2f} ms  "
              f"{'found' if layout == found else f'{ratios[layout]:.3f}'}", flush=True)
    return max(ratios.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mtfc")
    parser.add_argument("--seconds", type=float, default=1, help="of steps in a run (default 1)")
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
