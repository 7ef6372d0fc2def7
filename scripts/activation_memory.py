#!/usr/bin/env python3
"""What a layer of transformer_lm keeps for its backward pass, beside the formulas of Korthikanti et al. 2022 (table 2).

  scripts/activation_memory.py [--program build/mtfc] [--shapes 22B 175B 530B 1T] [--layers 6] [--batch 8] [--no-times]

The shapes are those of the paper's table 3: sequences of 2,048 tokens, a vocabulary of 51,200, 8 devices that share each layer.
The unit is length x batch x d_model bytes, where a float takes 2 bytes, and integers and masks take their own. Where a layer keeps more than
the formula, the limit of memory is lowered until the planner computes enough again. Exits with 1 if a layer still keeps more."""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEVICES, LENGTH = 8, 2048
SHAPES = {"22B": (64, 6144), "175B": (96, 12288), "530B": (128, 20480), "1T": (160, 25600)}  # heads, d_model
TENSOR_PARALLEL = {"mesh": [["model", DEVICES]], "propagate": True,
                   "rules": [["heads", "model"], ["d_ff", "model"], ["vocab", "model"]]}
# Without the last two, some batches are so large that gathering weights is cheaper than gathering activations.
SEQUENCE_PARALLEL = {**TENSOR_PARALLEL, "regather": "**/attention/wo",
                     "shardings": {**{name: {"length": "model"}
                                      for name in ("position/y", "layer_*/self/y", "layer_*/ffn/y")},
                                   "layer_*/self/attention/o": {"heads": "model"},
                                   "layer_*/ffn/feed_forward/inner": {"d_ff": "model"}}}


def formulas(heads, model):
    """Of each row: its name, the paper's figure, the layout, and whether whole layers are computed again."""
    scores = 5 * heads * LENGTH / model
    t = DEVICES
    return [("tensor parallel", 10 + 24 / t + scores / t, TENSOR_PARALLEL, 0),
            ("and sequence parallel", (34 + scores) / t, SEQUENCE_PARALLEL, 0),
            ("tensor parallel, selective", 10 + 24 / t, TENSOR_PARALLEL, 0),
            ("and sequence parallel", 34 / t, SEQUENCE_PARALLEL, 0),
            ("whole layers again", 2, TENSOR_PARALLEL, 1)]


def seconds(figure, unit):
    return float(figure) * {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]


class Compiler:
    def __init__(self, args, heads, model, folder):
        self.args, self.folder = args, folder
        self.unit = LENGTH * args.batch * model
        self.sizes = {"layers": args.layers, "batch": args.batch, "length": LENGTH, "d_model": model, "d_ff": 4 * model,
                      "heads": heads, "d_kv": model // heads, "vocab": 51200, "dropout": 0.1, "gelu": 1}

    def compile(self, layout, recompute, limit=None):
        """The training step, or None if it can't be made to fit, and what was said of what is computed again."""
        (self.folder / "layout.json").write_text(json.dumps(layout))
        command = [self.args.program, "compile", ROOT / "models" / "transformer_lm.json", "--hardware", "tpu-v3",
                   "--layout", self.folder / "layout.json", "--emit", "json", "-o", self.folder / "program.json"]
        for name, size in {**self.sizes, "recompute": recompute}.items():
            command += ["--set", f"{name}={size}"]
        if limit:
            command += ["--memory-limit", str(limit)]
        if self.args.no_times:
            command += ["-q"]
        done = subprocess.run(command, capture_output=True, text=True)
        if limit and "more than the limit" in done.stderr:
            return None, done.stderr
        if done.returncode != 0:
            sys.exit(done.stderr)
        program = json.loads((self.folder / "program.json").read_text())
        return next(entry for entry in program["entry_points"] if entry["name"] == "train"), done.stderr

    def kept(self, entry):
        """The units that a layer keeps, the mean of all layers but the last, whose last tensors nothing has released yet."""
        end = max(i for i, step in enumerate(entry["steps"])
                  if step.get("phase") == "forward" and step["name"].startswith("layer_"))
        made = {}
        for i, step in enumerate(entry["steps"][:end + 1]):
            for value in step.get("outputs", []):
                made.setdefault(value, i)
        last = {}  # of each buffer, the value that it holds at the end
        for value in sorted(made, key=made.get):
            last[entry["values"][value]["buffer"]] = entry["values"][value]
        total = 0
        for number, buffer in enumerate(entry["buffers"]):
            value = last.get(number)
            is_kept = buffer["kind"] != "variable" and buffer["first_step"] <= end < buffer["last_step"]
            if not is_kept or not value or not re.match(r"layer_\d+/", value["name"]):
                continue
            if not value["name"].startswith(f"layer_{self.args.layers - 1}/"):
                total += buffer["bytes"] // 2 if value["dtype"] == "f32" else buffer["bytes"]
        return total / self.unit / (self.args.layers - 1)

    def within(self, layout, recompute, most):
        """What a layer keeps, and the extra time if something had to be computed again to keep no more than `most`."""
        entry, _ = self.compile(layout, recompute)
        found, limit, extra = self.kept(entry), entry["arena_bytes"], ""
        lower = 0
        for _ in range(12):
            if found <= most:
                break
            # The peak is not always where layers keep most, so a little more than what is missing.
            missing = int(max(1.4 * (found - most), 0.1) * 2 * self.unit * (self.args.layers - 1))
            wanted = limit - missing if limit - missing > lower else (limit + lower) // 2
            fitted, said = self.compile(layout, recompute, wanted)
            if not fitted:
                lower = wanted
                continue
            limit, found = wanted, self.kept(fitted)
            steps = re.search(r"predicted step ([\d.]+) (\S+) in place of ([\d.]+) (\S+);", said)
            if steps:
                extra = f"{100 * (seconds(steps[1], steps[2]) / seconds(steps[3], steps[4]) - 1):.1f} %"
        return found, extra


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build" / "mtfc", help="the program mtfc")
    parser.add_argument("--shapes", nargs="+", choices=list(SHAPES), default=list(SHAPES), help="models of the paper")
    parser.add_argument("--layers", type=int, default=6, help="layers that are compiled, at least 2")
    parser.add_argument("--batch", type=int, default=8, help="sequences in a batch")
    parser.add_argument("--no-times", action="store_true",
                        help="leave the last column empty, which takes half the time")
    args = parser.parse_args()
    if args.layers < 2:
        parser.error("--layers must be at least 2")
    print("| shape | layout | paper | of its first | mtfc | of its first | computed again takes |")
    print("|---|---|---|---|---|---|---|")
    exceeded = False
    with tempfile.TemporaryDirectory() as folder:
        for shape in args.shapes:
            compiler = Compiler(args, *SHAPES[shape], pathlib.Path(folder))
            rows = formulas(*SHAPES[shape])
            first = None
            for name, most, layout, recompute in rows:
                found, extra = compiler.within(layout, recompute, most)
                first = first or found
                exceeded = exceeded or found > most
                print(f"| {shape} | {name} | {most:.2f} | {100 * most / rows[0][1]:.1f} % | {found:.2f} | "
                      f"{100 * found / first:.1f} % | {extra} |{' EXCEEDED' if found > most else ''}", flush=True)
    sys.exit(exceeded)


if __name__ == "__main__":
    main()
