#!/usr/bin/env python3
"""Predicted beside measured step times on this machine: four models on one rank and on two, the batch split and the
model split. Calibrates first, with one rank and with two.

    scripts/bench/predict.py build/mtfc [--rounds 3]

Measured is the median of three runs, of each the median of 1.5 seconds of steps, without the time to make inputs. A
mean of the errors and the worst close the table, and how many pairs of layouts of a model that differ by more than 15 %
are in the measured order.
Give the machine no other work meanwhile.
"""
import argparse
import itertools
import pathlib
import statistics
import tempfile

from step_time import call, measured_seconds, predicted_seconds, steps_for

MODELS = pathlib.Path(__file__).resolve().parents[2] / "models"
# Model: its data sources, and the layouts that split the batch and the model.
CASES = {
    "two_layer": ([], "batch:all", "hidden:all"),
    "mnist": (["images=random:uniform", "labels=random:int,lo=0,hi=10"], "batch:all", "hidden:all"),
    "char_lm": ([], "batch:all", "d_ff:all,heads:all"),
    "transformer_lm": ([], "batch:all", "d_ff:all,heads:all,vocab:all"),
}


def arguments(model, layout):
    mesh = ["--mesh", "all:2", "--layout", layout] if layout else []
    return [MODELS / f"{model}.json", *mesh]


def order(times):
    """Pairs of (measured, predicted) of which one is more than 15 % slower, and those in the predicted order."""
    pairs = [(a, b) for a, b in itertools.combinations(times, 2) if max(a[0], b[0]) > 1.15 * min(a[0], b[0])]
    return len(pairs), sum((a[0] < b[0]) == (a[1] < b[1]) for a, b in pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mtfc")
    parser.add_argument("--seconds", type=float, default=1.5, help="of steps in a run (default 1.5)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each layout (default 3)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        one, two = folder / "one.json", folder / "two.json"
        call(options.mtfc, "calibrate", "-o", one)
        call(options.mtfc, "calibrate", "--mesh", "all:2", "-o", two)
        cases = [(model, layout) for model, (_, batch, split) in CASES.items() for layout in (None, batch, split)]
        expected = {case: predicted_seconds(options.mtfc, folder, arguments(*case), two if case[1] else one)
                    for case in cases}
        found = {case: [] for case in cases}
        for _ in range(options.rounds):
            for case in cases:
                steps = steps_for(options.seconds, expected[case])
                found[case].append(measured_seconds(options.mtfc, folder, arguments(*case), CASES[case[0]][0], steps))
    print(f"{'model':<16} {'layout':<30} {'predicted':>11} {'measured':>11} {'error':>8}")
    errors, differing, ordered = [], 0, 0
    for model in CASES:
        times = []
        for case in cases:
            if case[0] != model:
                continue
            times.append((statistics.median(found[case]), expected[case]))
            errors.append(times[-1][1] / times[-1][0] - 1)
            print(f"{model:<16} {case[1] or 'one rank':<30} {times[-1][1] * 1e3:8.2f} ms {times[-1][0] * 1e3:8.2f} ms "
                  f"{errors[-1]:+8.0%}")
        pairs, right = order(times)
        differing, ordered = differing + pairs, ordered + right
    print(f"mean {sum(map(abs, errors)) / len(errors):.0%}, worst {max(map(abs, errors)):.0%}; "
          f"{ordered} of {differing} pairs that differ by more than 15 % are in the measured order")


if __name__ == "__main__":
    main()
