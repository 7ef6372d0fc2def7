#!/usr/bin/env python3
"""The share of a data-parallel step's communication between two nodes that is hidden behind computation.

  scripts/bench/hidden_share.py [--link 250mbit] [--build build] [--rounds 5] [--steps 10] [--set NAME=VALUE ...] [--json]

Two ranks of one thread, each on a host of its own, train a Transformer in three ways in turn: as mtfc schedules the step;
with every collective awaited right after it has started; and each rank alone with its half of the batch, side by side, which
sends nothing. With the medians t, w and a of their step times, the share is 1 - (t - a) / (w - a).

The hosts are network namespaces of this machine with a link of the given rate between them (scripts/hosts.sh, which needs
root). With `--link none`, the ranks are on one host and copy through its memory, which --ranks-per-node 1 treats as two
nodes; there is little to hide then, because the cores that compute do the copying. The two cores also do the work of the
network here: some 25 ms for the 13 MB that a step of the default size sends. A faster link leaves less time beside that."""
import argparse
import json
import os
import pathlib
import random
import subprocess
import tempfile

import side_by_side as bench

SIZES = {"batch": 32, "length": 256, "vocab": 256, "d_model": 256, "d_ff": 1024, "layers": 4, "heads": 4, "d_kv": 64,
         "tie_embeddings": 1, "gelu": 1, "lr": 0.0001}


def await_at_once(entry):
    """Moves every wait behind its start, and brings the indices and the lives of the buffers up to date."""
    steps = entry["steps"]
    wait_of = {step["started"]: i for i, step in enumerate(steps) if step["kind"] == "wait"}
    order = []
    for i, step in enumerate(steps):
        if step["kind"] != "wait":
            order.append(i)
        if i in wait_of:
            order.append(wait_of[i])
    place = {old: new for new, old in enumerate(order)}
    users = {}
    for i, step in enumerate(steps):
        for value in step["inputs"] + step["outputs"]:
            users.setdefault(entry["values"][value]["buffer"], []).append(i)
    for number, buffer in enumerate(entry["buffers"]):
        lives = [i for i in range(buffer["first_step"], buffer["last_step"] + 1) if steps[i]["kind"] != "wait"]
        new = [place[i] for i in lives + users.get(number, [])]
        if new:
            buffer["first_step"], buffer["last_step"] = min(new), max(new)
    for step in steps:
        for key in ("started", "partner"):
            if key in step:
                step[key] = place[step[key]]
    entry["steps"] = [steps[i] for i in order]


def metrics_median(path):
    times = [json.loads(line)["step_time"] for line in path.read_text().splitlines()]
    times = sorted(times[2:])
    return times[len(times) // 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    bench.add_arguments(parser)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--link", default="250mbit", help="rate of the link between the hosts, as tc reads it, or none")
    parser.add_argument("--set", action="append", default=[])
    args = parser.parse_args()
    bench.tell_settings()
    sizes = SIZES | {name: int(value) for name, value in (each.split("=") for each in args.set)}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        data = {}
        for batch in (sizes["batch"], sizes["batch"] // 2):
            data[batch] = []
            for key in ("tokens", "targets"):
                path = folder / f"{key}_{batch}.npy"
                bench.write_npy(path, [batch, sizes["length"]],
                                (random.randrange(sizes["vocab"]) for _ in range(batch * sizes["length"])), "i")
                data[batch] += ["--input", f"{key}={path}"]
        sets = [part for key, size in sizes.items() for part in ("--set", f"{key}={size}")]
        model = bench.ROOT / "models" / "transformer_lm.json"
        scheduled, awaited = folder / "scheduled.json", folder / "awaited.json"
        bench.output_of([bench.program(args, "mtfc"), "compile", model, *sets, "--mesh", "all:2", "--layout", "batch:all",
                         "-o", scheduled, "-q"])
        program = json.loads(scheduled.read_text())
        for entry in program["entry_points"]:
            await_at_once(entry)
        awaited.write_text(json.dumps(program))

        def together(program_file):
            metrics = folder / "metrics.jsonl"
            start = ([bench.launcher(), "-n", 2] if args.link == "none"
                     else [bench.ROOT / "scripts" / "hosts.sh", "--link", args.link, 1])
            bench.output_of([*start, bench.program(args, "mtfc"), "run", program_file,
                             *data[sizes["batch"]], "--ranks-per-node", 1, "--threads", 1, "--steps", args.steps + 2,
                             "--metrics", metrics, "-q"])
            return metrics_median(metrics)

        def alone():
            half = sizes["batch"] // 2
            files = [folder / f"alone_{rank}.jsonl" for rank in range(2)]
            runs = [subprocess.Popen([str(part) for part in (
                bench.program(args, "mtfc"), "run", model, *sets, "--set", f"batch={half}", *data[half], "--threads", 1,
                "--steps", args.steps + 2, "--metrics", file, "-q")], stdout=subprocess.DEVNULL, env=os.environ)
                for file in files]
            if any([run.wait() != 0 for run in runs]):
                raise SystemExit("a run of one rank failed")
            return max(metrics_median(file) for file in files)

        found = bench.medians(args.rounds, {"step": lambda: together(scheduled), "awaited": lambda: together(awaited),
                                            "alone": alone})
        share = 1 - (found["step"] - found["alone"]) / (found["awaited"] - found["alone"])
        bench.show(args, f"2 nodes of 1 thread, link: {args.link}", "hidden share of communication", share, 0.6,
                   **{f"{key}_ms": round(1e3 * seconds, 1) for key, seconds in found.items()})


if __name__ == "__main__":
    main()
