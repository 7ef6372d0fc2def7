#!/usr/bin/env python3
"""Trains char_lm on a text in f32 and in mixed precision, and compares the losses on text that was held out; then compares
the losses of further runs in mixed precision under several layouts, step by step.

  scripts/bench/mixed_precision.py --text FILE [--steps N] [--layout-steps N] [--mtfc FILE]

The exit code is 1 if the held-out losses differ by more than 1 %, or layouts by more than 1 % in any step.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LAYOUTS = {
    "one device": [],
    "batch over 2": ["--mesh", "p:2", "--layout", "batch:p"],
    "batch and model over 2 x 2": ["--layout", str(ROOT / "models" / "layouts" / "transformer_both.json")],
}
MOST = 0.01


def run(mtfc, *options):
    """Returns the records of a run's metrics."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        command = [mtfc, "run", str(ROOT / "models" / "char_lm.json"), "-q", "--simulate", "--metrics", str(log), *options]
        subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
        return [json.loads(line) for line in log.read_text().splitlines()]


def data(option, text, split):
    return [option, f"tokens=text:{text},split={split}", option, f"targets=text:{text},shift=1,split={split}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--text", required=True, help="a text of at least some 100,000 characters")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--layout-steps", type=int, default=100)
    parser.add_argument("--mtfc", default=ROOT / "build" / "mtfc")
    arguments = parser.parse_args()
    train, valid = data("--input", arguments.text, "train"), data("--valid", arguments.text, "valid")
    held_out = {}
    for dtype in ("f32", "bf16"):
        records = run(arguments.mtfc, "--dtype", dtype, "--steps", arguments.steps, "--set", f"steps={arguments.steps}",
                      *train, *valid)
        held_out[dtype] = next(r["valid/loss"] for r in reversed(records) if "valid/loss" in r)
    worst = abs(held_out["bf16"] / held_out["f32"] - 1)
    print(f"held-out loss after {arguments.steps} steps: {held_out['f32']:.5f} in f32, {held_out['bf16']:.5f} in mixed "
          f"precision, {100 * worst:.2f} % apart")
    losses = {}
    for name, layout in LAYOUTS.items():
        records = run(arguments.mtfc, "--dtype", "bf16", "--steps", arguments.layout_steps, *train, *layout)
        losses[name] = [r["loss"] for r in records if "loss" in r]
        apart = max(abs(a / b - 1) for a, b in zip(losses[name], losses["one device"], strict=True))
        worst = max(worst, apart)
        print(f"{name}: {len(losses[name])} steps, the last loss {losses[name][-1]:.5f}, at most {100 * apart:.3f} % from "
              f"one device")
    finite = all(math.isfinite(loss) for of_layout in losses.values() for loss in of_layout)
    return 0 if worst <= MOST and finite else 1


if __name__ == "__main__":
    sys.exit(main())
