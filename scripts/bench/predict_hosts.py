#!/usr/bin/env python3
"""Predicted beside measured step times over hosts: `mtfc calibrate` measures their links, then a Transformer of width 256
is trained under several layouts, and under the one that `mtfc search` finds with the measured profile, if it is another.

  scripts/bench/predict_hosts.py [--build build] [--hosts 2] [--ranks 1] [--link 1gbit] [--delay TIME] [--rounds 5] [--steps 8]
                                 [--batch 8] [--profile NAME] [--json]

The hosts are network namespaces of this machine (scripts/hosts.sh, which needs root); each has its own cores. Measured is
the median over the rounds of the median of a run's step times. --profile NAME keeps the profile that was measured as
NAME.MESH.json, or takes the one that is there. Targets: every prediction within 15 %, the layouts in the measured order, and
the layout that is found no more than 3 % slower than the best one."""
import argparse
import itertools
import json
import pathlib
import statistics
import sys
import tempfile

import side_by_side as bench

SIZES = {"length": 256, "vocab": 256, "d_model": 256, "d_ff": 1024, "layers": 4, "heads": 4, "d_kv": 64, "tie_embeddings": 1,
         "gelu": 1, "lr": 0.0001}
SPLIT = ["vocab", "d_ff", "heads"]
MOST_OFF = 0.15
MOST_SLOWER = 0.03  # of the layout that is found than of the best one


def layouts(hosts, ranks):
    """The mesh, and layouts by name: all on one mesh, so that one profile predicts all of them."""
    def model(axes):
        return ",".join(f"{dim}:{axes}" for dim in SPLIT)

    if ranks == 1:
        return f"all:{hosts}", {"data": "batch:all", "model": model("all")}
    return f"rows:{hosts},cols:{ranks}", {"data": "batch:rows+cols", "model": model("rows+cols"),
                                          "both": f"batch:rows,{model('cols')}", "across": f"batch:cols,{model('rows')}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    bench.add_arguments(parser)
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--link", default="1gbit")
    parser.add_argument("--delay")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--profile")
    args = parser.parse_args()
    bench.tell_settings()
    mtfc = bench.program(args, "mtfc")
    start = [bench.ROOT / "scripts" / "hosts.sh", "--hosts", args.hosts, "--cores", "--link", args.link,
             *(["--delay", args.delay] if args.delay else []), args.ranks, mtfc]
    model = [bench.ROOT / "models" / "transformer_lm.json", "--set", f"batch={args.batch}"]
    model += [part for name, size in SIZES.items() for part in ("--set", f"{name}={size}")]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        mesh, cases = layouts(args.hosts, args.ranks)
        profile = pathlib.Path(f"{args.profile}.{mesh.replace(':', '')}.json") if args.profile else folder / "hosts.json"
        if not profile.exists():
            print(f"calibrating over {mesh}", file=sys.stderr)
            bench.output_of([*start, "calibrate", "--mesh", mesh, "--threads", 1, "-o", profile, "-q"])
        searched = folder / "search.json"
        bench.output_of([mtfc, "search", *model, "--mesh", mesh, "--hardware", profile, "-o", searched, "-q"])
        rules = ",".join(":".join([dim, axes if isinstance(axes, str) else "+".join(axes)])
                         for dim, axes in json.loads(searched.read_text())["rules"])
        text = dict(cases, search=rules)
        best = next((case for case, layout in cases.items() if sorted(layout.split(",")) == sorted(rules.split(","))), "search")
        if best == "search":
            cases["search"] = str(searched)
        predicted, measured = {}, {case: [] for case in cases}
        for case, layout in cases.items():
            report = json.loads(bench.output_of([mtfc, "cost-report", *model, "--mesh", mesh, "--layout", layout, "--hardware",
                                                 profile, "--format", "json", "-q"]))
            predicted[case] = report["layouts"][0]["time"]["step_s"]
        for _ in range(args.rounds):
            for case, layout in cases.items():
                metrics = folder / "metrics.jsonl"
                bench.output_of([*start, "run", *model, "--mesh", mesh, "--layout", layout, "--threads", 1, "--steps",
                                 args.steps + 2, "--metrics", metrics, "-q"])
                times = [json.loads(line)["step_time"] for line in metrics.read_text().splitlines()]
                measured[case].append(statistics.median(times[2:]))
    found = {case: statistics.median(times) for case, times in measured.items()}
    passed = True
    for case, seconds in found.items():
        off = predicted[case] / seconds - 1
        passed &= abs(off) <= MOST_OFF
        if args.json:
            print(json.dumps({"layout": case, "predicted_s": predicted[case], "measured_s": seconds, "off": off,
                              "found": case == best}))
        else:
            print(f"{case:<8} {text[case]:<40} predicted {1e3 * predicted[case]:8.1f} ms  measured {1e3 * seconds:8.1f} ms"
                  f"  {off:+7.1%}")
    slower = found[best] / min(found.values()) - 1
    passed &= slower <= MOST_SLOWER
    print(f"search finds {text[best]}, whose step takes {slower:.1%} longer than the shortest one", file=sys.stderr)
    pairs = list(itertools.combinations([case for case in found if case != "search"], 2))
    right = sum((found[a] < found[b]) == (predicted[a] < predicted[b]) for a, b in pairs)
    print(f"{right} of {len(pairs)} pairs of layouts in the measured order", file=sys.stderr)
    sys.exit(0 if passed and right == len(pairs) else 1)


if __name__ == "__main__":
    main()
