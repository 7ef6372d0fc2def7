#!/usr/bin/env python3
"""Compares what two compilers make of the same models and layouts, so that a change of the planner can be judged.

  scripts/bench/compare_compilers.py OLD NEW [--models models] [--random N [--only-random]] [--seed S]
                                     [--hardware NAME...] [--cpu-limit S] [--jobs N] [--all]

OLD and NEW are two mtfc binaries. Every model of the folder is compiled under every layout file of its folder `layouts`
that is legal for it, and under N random layouts, half of them propagated. A row is printed for each case in which the
new program sends more bytes, has more collectives, multiplies more, takes more memory or a longer predicted step, and
with --all for each case that differs; the last lines count the cases. Exits with 1 if a case is dearer, or if one
compiler takes a layout that the other refuses."""

import argparse
import concurrent.futures
import json
import pathlib
import random
import resource
import subprocess
import sys

FIGURES = {
    "bytes": lambda r: r["communication"]["bytes_sent_per_device"],
    "collectives": lambda r: r["communication"]["count"],
    "products": lambda r: r["flops"]["einsum_per_device"],
    "memory": lambda r: r["memory"]["peak_bytes_per_device"],
    "seconds": lambda r: r.get("time", {}).get("step_s", 0),
}


def figures(arguments, binary, model, layout, hardware):
    command = [binary, "cost-report", model, *arguments.settings, *layout, "--format", "json"]
    if hardware:
        command += ["--hardware", hardware]
    limit = (arguments.cpu_limit, arguments.cpu_limit + 1)
    done = subprocess.run(command, capture_output=True, text=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, limit))
    if done.returncode < 0:
        return f"took longer than {arguments.cpu_limit} s"
    if done.returncode:
        return f"exit {done.returncode}"
    report = json.loads(done.stdout)["layouts"][0]
    return {name: of(report) for name, of in FIGURES.items()}


def random_layout(draw, dims):
    axes = draw.choice([["a:2"], ["a:4"], ["a:2", "b:2"], ["a:4", "b:2"], ["a:2", "b:3"], ["a:8", "b:4"], ["a:2", "b:2", "c:2"]])
    rules = []
    for axis in axes:
        for dim in draw.sample(dims, min(len(dims), draw.choice([1, 1, 2, 3]))):
            rules.append(f"{dim}:{axis.split(':')[0]}")
    if draw.random() < 0.2:
        rules.append(f"zero:{draw.choice([1, 2, 3])}")
    layout = ["--mesh", ",".join(axes), "--layout", ",".join(rules)]
    return layout + (["--propagate"] if draw.random() < 0.5 else [])


def cases(arguments):
    folder = pathlib.Path(arguments.models)
    models = [path for path in sorted(folder.glob("*.json")) if not arguments.only or arguments.only in path.name]
    for model in [] if arguments.only_random else models:
        for layout in sorted((folder / "layouts").glob("*.json")):
            for hardware in [None, *arguments.hardware]:
                yield str(model), ["--layout", str(layout)], hardware
    draw = random.Random(arguments.seed)
    for i in range(arguments.random):
        model = draw.choice(models)
        dims = sorted(json.loads(model.read_text()).get("dims", {}))
        yield str(model), random_layout(draw, dims), draw.choice([None, *arguments.hardware])


def compared(arguments, case):
    model, layout, hardware = case
    return case, [figures(arguments, binary, model, layout, hardware) for binary in (arguments.old, arguments.new)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--models", default="models")
    parser.add_argument("--only", default="", help="of the models whose names have this text")
    parser.add_argument("--random", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hardware", nargs="*", default=["h100", "tpu-v3"])
    parser.add_argument("--settings", nargs="*", default=[], help="further options of both, such as --set=batch=8")
    parser.add_argument("--only-random", action="store_true", help="leave out the layout files")
    parser.add_argument("--cpu-limit", type=int, default=300, metavar="S",
                        help="the seconds of processor time that a compilation may take")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--all", action="store_true", help="print cheaper cases, too")
    arguments = parser.parse_args()
    same = cheaper = dearer = refused = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for (model, layout, hardware), (old, new) in pool.map(lambda case: compared(arguments, case), cases(arguments)):
            name = f"{model} {' '.join(layout)} {('--hardware ' + hardware) if hardware else ''}"
            if isinstance(old, str) or isinstance(new, str):
                refused += 1
                if isinstance(old, str) != isinstance(new, str) or old != new:
                    dearer += 1
                    print(f"{name}\n    old: {old}\n    new: {new}", flush=True)
                continue
            changed = {key: (old[key], new[key]) for key in FIGURES if abs(new[key] - old[key]) > 1e-9 * abs(old[key])}
            worse = any(after > before for before, after in changed.values())
            same += not changed
            dearer += worse
            cheaper += bool(changed) and not worse
            if worse or (changed and arguments.all):
                rows = ", ".join(f"{key} {before:.6g} -> {after:.6g}" for key, (before, after) in changed.items())
                print(f"{'dearer ' if worse else 'cheaper'} {name}\n    {rows}", flush=True)
    print(f"{same} equal, {cheaper} cheaper, {dearer} dearer or different, {refused} refused by both or one")
    sys.exit(1 if dearer else 0)


main()
