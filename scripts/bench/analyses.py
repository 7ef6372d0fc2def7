#!/usr/bin/env python3
"""Times the analyses of large models: each must end within ten seconds, or show progress and obey --time-limit.

  scripts/bench/analyses.py [--mtfc build/mtfc] [--model models/gpt2.json] [--layers 32 80] [--only TEXT] [--limit 10]

The models: --model, whose dims are batch, length, heads and vocab and which has the param layers, on 8 to 512 devices; a U-Net
split along three axes; and the translation model with 600 billion weights in experts. Each is compiled by its rules and
propagated, for a profile with one level of links and one with two. Prints a row for each command: the seconds, the CPU
seconds, and, where it took longer than --limit, the last progress line and the seconds with --time-limit 3. Exits with 1 if a
command fails, or takes longer without progress, or ends more than --limit seconds behind the limit that it is given."""
import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[2]
MOE = ("--set layers=18 --set experts=2048 --set batch=4096 --set length=1024 --set tokens=1024 --set d_model=1024 "
       "--set d_ff=8192 --set heads=16 --set d_kv=128 --set vocab=32768")


def analyses(model, layers, folder):
    for count in layers:
        many = f"{model} --set layers={count} --set batch=512"
        for mesh, layout in (("dp:2,tp:4", "batch:dp,heads:tp,d_ff:tp,vocab:tp"),
                             ("dp:8,tp:8", "batch:dp,heads:tp,d_ff:tp,vocab:tp"),
                             ("dp:64,tp:8", "batch:dp,heads:tp,d_ff:tp,vocab:tp,zero:3"),
                             ("cp:8", "length:cp")):
            for hardware in ("h100", "tpu-v3"):
                for propagate in ("", " --propagate"):
                    yield f"cost-report {many} --mesh {mesh} --layout {layout} --hardware {hardware}{propagate}"
            yield f"explain {many} --mesh {mesh} --layout {layout} --propagate"
        yield f"diff {many} --mesh dp:64,tp:8 batch:dp batch:dp,heads:tp,d_ff:tp,vocab:tp --propagate --hardware h100"
        yield f"search {many} --devices 64 --hardware h100 --memory-limit 10TB --time-limit 8 -q"
    unet = f"{ROOT}/models/unet.json --set batch=2 --set rows=16 --set cols=32 --optimizer adamw --dtype f64"
    rules = {"mesh": [["p", 2], ["q", 2], ["r", 2]],
             "rules": [["rows4", ["p"]], ["cols", ["q", "p"]], ["rows", ["r"]], ["below2", ["r"]]]}
    for name, zero in (("rules", {}), ("zero", {"shard_state_over": ["p"], "shard_variables": True})):
        path = pathlib.Path(folder) / f"{name}.json"
        path.write_text(json.dumps(rules | zero))
        for propagate in ("", " --propagate"):
            yield f"compile {unet} --layout {path}{propagate}"
    for hardware in ("tpu-v3", "h100"):
        for propagate in ("", " --propagate"):
            mesh = "rows:32,cols:64" if hardware == "tpu-v3" else "rows:256,cols:8"
            yield (f"cost-report {ROOT}/models/moe_encdec.json {MOE} --mesh {mesh} --layout "
                   f"batch:rows+cols,experts:rows+cols --hardware {hardware}{propagate}")


def timed(mtfc, command):
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([mtfc, *command.split()], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    said = [line for line in done.stderr.splitlines() if not line.startswith(("mtfc: warning", "mtfc: note", " "))]
    return time.monotonic() - start, cpu, done.returncode, said


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mtfc", default=str(ROOT / "build" / "mtfc"))
    parser.add_argument("--model", default=str(ROOT / "models" / "gpt2.json"))
    parser.add_argument("--layers", type=int, nargs="+", default=[32, 80])
    parser.add_argument("--only", default="", help="the commands that contain this text")
    parser.add_argument("--limit", type=float, default=10)
    args = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for command in analyses(args.model, args.layers, folder):
            if args.only not in command:
                continue
            wall, cpu, code, said = timed(args.mtfc, command)
            row = f"{wall:6.1f} s  CPU {cpu:6.1f} s  {command.replace(str(ROOT) + '/', '').replace(args.model, 'MODEL')}"
            bad = code != 0 or ("--time-limit" in command and wall > 2 * args.limit)
            if code != 0:
                row += f"\n    exit {code}: {said[:1]}"
            elif cpu > args.limit and "--time-limit" not in command:
                limited, _, code, _ = timed(args.mtfc, command + " --time-limit 3")
                bad = code != 0 or not said or limited > 3 + args.limit
                row += f"\n    says: {said[-1] if said else 'nothing'}\n    with --time-limit 3: {limited:.1f} s, exit {code}"
            failed += bad
            print(("BAD " if bad else "    ") + row, flush=True)
    print(f"{failed} of them failed" if failed else "all ended in time, or said how far they were and obeyed their limit")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
