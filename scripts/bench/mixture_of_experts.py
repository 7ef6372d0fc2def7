#!/usr/bin/env python3
"""A layer of experts by index beside one by one-hot masks, and a training step of moe_lm beside PyTorch's.

  scripts/bench/mixture_of_experts.py [--build build] [--peer mixture_peer.py] [--rounds 5] [--json]

Dispatch and combine: 2 groups of 1,024 tokens, 32 experts, d_model 512, forward and backward on one thread; the time is
that of their steps in a timeline. moe_lm: d_model 256, d_ff 1024, 4 layers, 8 experts, length 256, batch 8, vocab 256 on
1 rank of 2 threads, beside the peer's faster form, by index or by mask."""
import argparse
import json
import pathlib
import statistics
import tempfile

import side_by_side as bench

SIZES = {"batch": 8, "length": 256, "vocab": 256, "d_model": 256, "d_ff": 1024, "layers": 4, "heads": 4, "d_kv": 64,
         "experts": 8, "lr": 0.0001}
ROUTE_DIMS = ["groups", "tokens", "choice"]


def dispatch_model(by_mask):
    """The block `dispatch` of std/moe.json, without its experts, between x and an inner product."""
    block = json.loads((bench.ROOT / "models" / "std" / "moe.json").read_text())["blocks"]["dispatch"]
    ops = [{"out": "fits", "op": "less", "in": ["place", {"expr": "capacity"}]}]
    for op in block["ops"]:
        when = op.pop("when", None)
        if when == ("not one_hot" if by_mask else "one_hot"):
            continue
        ops.append({"out": "results", "op": "identity", "in": "received"} if op["op"] == "call" else op)
    ops.append({"out": "loss", "op": "einsum", "in": ["y", "t"], "dims": []})
    x = {"dims": ["groups", "tokens", "model"], "init": {"normal": 1}}
    return {"mtfc": 1, "ops": ops, "outputs": ["loss"],
            "dims": {"groups": 2, "tokens": 1024, "experts": 32, "model": 512, "choice": 2, "capacity": 64,
                     "slots": "experts * capacity"},
            "inputs": {name: {"dims": ROUTE_DIMS, "dtype": "i32"} for name in ("chosen", "place")},
            "variables": {"x": x, "t": {**x, "trainable": False}, "weights": {**x, "dims": ROUTE_DIMS}},
            "train": {"loss": "loss", "optimizer": {"kind": "sgd", "lr": 0}},
            "data": {"chosen": "random:int,hi=experts", "place": "random:int,hi=capacity"}}


def dispatch_seconds(args, folder, by_mask):
    """The sum of the median times of all steps but the inner product, the update and the initial values."""
    model, trace = folder / f"dispatch_{by_mask}.json", folder / "trace.json"
    model.write_text(json.dumps(dispatch_model(by_mask)))
    bench.output_of([bench.program(args, "mtfc"), "run", model, "--steps", 8, "--threads", 1, "--trace", trace, "-q"],
                    {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
    events = json.loads(trace.read_text())
    times = {}
    for event in events["traceEvents"] if isinstance(events, dict) else events:
        if event.get("ph") == "X" and not event["name"].startswith("train step"):
            times.setdefault(event["name"], []).append(event["dur"])
    return sum(statistics.median(steps) for name, steps in times.items()
               if len(steps) > 1 and "/sgd/" not in name and " loss" not in name) * 1e-6


def step_options():
    options = [bench.ROOT / "models" / "moe_lm.json"]
    for name, size in SIZES.items():
        options += ["--set", f"{name}={size}"]
    return options


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    bench.add_arguments(parser)
    bench.add_peer_argument(parser)
    args = parser.parse_args()
    bench.tell_settings()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        measures = {"by index": lambda: dispatch_seconds(args, folder, False),
                    "by mask": lambda: dispatch_seconds(args, folder, True),
                    "step": lambda: bench.step_seconds(args, folder, step_options(), 1, 2, 10)}
        if args.peer:
            for form in ("by_index", "by_mask"):
                measures["peer", form] = lambda f=form: bench.peer_seconds(args, f, 2)
        found = bench.medians(args.rounds, measures)
    bench.show(args, "dispatch and combine", "times as fast as one-hot products", found["by mask"] / found["by index"],
               20, index_ms=round(found["by index"] * 1e3, 2), mask_ms=round(found["by mask"] * 1e3, 1))
    if not args.peer:
        print(f"moe_lm: {found['step'] * 1e3:.1f} ms")
        return bench.say_skipped("moe_lm")
    forms = {form: min(found["peer", form]) for form in ("by_index", "by_mask")}
    bench.show(args, "moe_lm, 1 rank x 2 threads", "times as fast as PyTorch", min(forms.values()) / found["step"], 1.5,
               step_ms=round(found["step"] * 1e3, 1), **{f"peer_{k}_ms": round(v * 1e3, 1) for k, v in forms.items()})


if __name__ == "__main__":
    main()
