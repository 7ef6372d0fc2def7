"""Code that the peers in PyTorch share: timing a training step, and the lines that side_by_side.py reads."""
import argparse
import json
import statistics
import time

import torch


def median_step_seconds(model, optimizer, loss, runs):
    """The median time of a step that minimizes loss(model), without the first two."""
    times = []
    for _ in range(runs + 2):
        start = time.perf_counter()
        optimizer.zero_grad()
        loss(model).backward()
        optimizer.step()
        times.append(time.perf_counter() - start)
    return statistics.median(times[2:])


def run(doc, names, median_seconds, add_arguments=lambda parser: None):
    """Prints a JSON object a line: the median step time of each model that --only names."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default=",".join(names))
    parser.add_argument("--runs", type=int, default=5)
    add_arguments(parser)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.set_flush_denormal(True)  # without it some steps take twenty times as long
    for name in args.only.split(","):
        torch.manual_seed(0)
        print(json.dumps({"peer": "pytorch " + torch.__version__, "model": name, "threads": args.threads,
                          "seconds_per_step": round(median_seconds(name, args), 6)}), flush=True)
