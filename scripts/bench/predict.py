#!/usr/bin/env python3
"""Predicted beside measured step times on this machine: four models on one rank and on two, the batch split and the
model split. Calibrates first, with one rank and with two.

    scripts/bench/predict.py build/mtfc [--steps 20]

Measured is the median of at least 1.5 seconds of steps, without the time to make inputs. A mean of the errors and the
worst close the table, and how many pairs of layouts of a model that differ by more than 15 % are in the measured order.
Give the machine no other work meanwhile.
"""
import argparse
import itertools
import json
import pathlib
import statistics
import subprocess
import tempfile

MODELS = pathlib.Path(__file__).resolve().parents[2] / "models"
# Model: its options, sources of data, and the layouts that split the batch and the model.
CASES = {
    "two_layer": ([], [], "batch:all", "hidden:all"),
    "mnist": ([], ["images=random:uniform", "labels=random:int,lo=0,hi=10"], "batch:all", "hidden:all"),
    "char_lm": ([], [], "batch:all", "d_ff:all,heads:all"),
    "transformer_lm": ([], [], "batch:all", "d_ff:all,heads:all,vocab:all"),
}


def call(*words):
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)


def seconds(mtfc, folder, model, layout, profile, steps):
    options, inputs, *_ = CASES[model]
    common = [MODELS / f"{model}.json", *options]
    if layout:
        common += ["--mesh", "all:2", "--layout", layout]
    predicted, measured = folder / "predicted.json", folder / "measured.json"
    call(mtfc, "cost-report", *common, "-q", "--hardware", profile, "--format", "json", "-o", predicted)
    data = [word for source in inputs for word in ("--input", source)]
    expected = json.loads(predicted.read_text())["time"]["step_s"]
    lines = folder / "lines.jsonl"
    steps = max(steps, int(1.5 / expected))
    call(mtfc, "run", *common, *data, "-q", "--steps", steps, "--report", measured, "--metrics", lines)
    times = [json.loads(line)["step_time"] for line in lines.read_text().splitlines()][2:]
    inputs = json.loads(measured.read_text())["run"]["time"]["input_seconds"]
    return expected, statistics.median(times) - inputs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mtfc")
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        one, two = folder / "one.json", folder / "two.json"
        call(options.mtfc, "calibrate", "-o", one)
        call(options.mtfc, "calibrate", "--mesh", "all:2", "-o", two)
        print(f"{'model':<16} {'layout':<30} {'predicted':>11} {'measured':>11} {'error':>8}")
        errors, differing, ordered = [], 0, 0
        for model, (_, _, batch, split) in CASES.items():
            times = []
            for layout in (None, batch, split):
                profile = two if layout else one
                predicted, measured = seconds(options.mtfc, folder, model, layout, profile, options.steps)
                errors.append(predicted / measured - 1)
                times.append((measured, predicted))
                print(f"{model:<16} {layout or 'one rank':<30} {predicted * 1e3:8.2f} ms {measured * 1e3:8.2f} ms "
                      f"{errors[-1]:+8.0%}", flush=True)
            for (a, a_predicted), (b, b_predicted) in itertools.combinations(times, 2):
                if max(a, b) > 1.15 * min(a, b):
                    differing += 1
                    ordered += (a < b) == (a_predicted < b_predicted)
        print(f"mean {sum(map(abs, errors)) / len(errors):.0%}, worst {max(map(abs, errors)):.0%}; "
              f"{ordered} of {differing} pairs that differ by more than 15 % are in the measured order")


if __name__ == "__main__":
    main()
