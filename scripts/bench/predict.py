#!/usr/bin/env python3
"""Predicted beside measured step times on this machine: four models on one rank and on two, the batch split and the
model split. Calibrates first, with one rank and with two.

    scripts/bench/predict.py build/mtfc [--steps 20]

A mean of the errors and the worst close the table. Give the machine no other work meanwhile.
"""
import argparse
import json
import pathlib
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
    call(mtfc, "run", *common, *data, "-q", "--steps", steps, "--report", measured)
    time = json.loads(measured.read_text())["run"]["time"]
    return json.loads(predicted.read_text())["time"]["step_s"], time["seconds_per_step"] - time["input_seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mtfc")
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        one, two = folder / "one.json", folder / "two.json"
        call(options.mtfc, "calibrate", "-q", "-o", one)
        call(options.mtfc, "calibrate", "-q", "--mesh", "all:2", "-o", two)
        print(f"{'model':<16} {'layout':<30} {'predicted':>11} {'measured':>11} {'error':>8}")
        errors = []
        for model, (_, _, batch, split) in CASES.items():
            for layout in (None, batch, split):
                predicted, measured = seconds(options.mtfc, folder, model, layout, two if layout else one, options.steps)
                errors.append(predicted / measured - 1)
                print(f"{model:<16} {layout or 'one rank':<30} {predicted * 1e3:8.2f} ms {measured * 1e3:8.2f} ms "
                      f"{errors[-1]:+8.0%}", flush=True)
        print(f"mean {sum(map(abs, errors)) / len(errors):.0%}, worst {max(map(abs, errors)):.0%}")


if __name__ == "__main__":
    main()
