#!/usr/bin/env python3
"""Times a product whose operand or result is split, in turns and with a collective, in alternation.

  scripts/bench/ring_product.py [--mtfc build/mtfc] [--mpiexec mpiexec] [--ranks 4] [--size 4096] [--pairs 6] [--messages]

For each of the three forms of a ring, prints the median seconds of both, the median ratio of the pairs (above 1: turns are
faster), and the memory of a rank. With --messages, ranks send messages in place of reading each other's memory."""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import tempfile

FORMS = {
    "results added up": {"a": {"m": "x"}, "b": {"k": "x"}, "y": {"m": "x"}},
    "results side by side": {"a": {"m": "x"}, "b": {"n": "x"}, "y": {"m": "x"}},
    "result turns": {"a": {"k": "x"}, "b": {"k": "x"}, "y": {"m": "x"}},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mtfc", default=str(pathlib.Path(__file__).parents[2] / "build" / "mtfc"))
    parser.add_argument("--mpiexec", default=shutil.which("mpiexec.mpich") or "mpiexec")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--messages", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = folder / "model.json"
        model.write_text(json.dumps({
            "mtfc": 1, "dims": {"m": args.size, "k": args.size, "n": args.size},
            "inputs": {"a": {"dims": ["m", "k"]}, "b": {"dims": ["k", "n"]}}, "outputs": ["y"],
            "ops": [{"out": "y", "op": "einsum", "in": ["a", "b"], "over": "k"}],
            "data": {"a": "random:normal", "b": "random:normal"}}))

        def seconds(shardings, turns):
            """The time of a step without that of its input, and the bytes of a rank."""
            layout, report = folder / "layout.json", folder / "report.json"
            layout.write_text(json.dumps(
                {"mesh": [["x", args.ranks]], "shardings": shardings, "ring": {"y": turns}}))
            subprocess.run([args.mpiexec, "-n", str(args.ranks), args.mtfc, "run", str(model), "--layout", str(layout),
                            "--steps", str(args.steps), "-q", "--report", str(report)] +
                           (["--shared-memory", "0"] if args.messages else []),
                           check=True, stdout=subprocess.DEVNULL)
            run = json.loads(report.read_text())["run"]
            return run["time"]["seconds_per_step"] - run["time"]["input_seconds"], run["arena_bytes_per_device"]

        print(f"{args.size} x {args.size} x {args.size} on {args.ranks} ranks, "
              f"{'by messages' if args.messages else 'in shared memory'}")
        for form, shardings in FORMS.items():
            pairs = [(seconds(shardings, False), seconds(shardings, True)) for _ in range(args.pairs)]
            apart, turned = zip(*pairs)
            print(f"{form:22} {statistics.median(a[0] for a in apart):.3f} s, in turns "
                  f"{statistics.median(t[0] for t in turned):.3f} s, ratio "
                  f"{statistics.median(a[0] / t[0] for a, t in pairs):.2f}; "
                  f"{apart[0][1] / 2**20:.0f} MiB, in turns {turned[0][1] / 2**20:.0f} MiB", flush=True)


if __name__ == "__main__":
    main()
