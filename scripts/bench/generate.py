#!/usr/bin/env python3
"""Time per token of `mtfc generate` for a small model, at two lengths.

  scripts/bench/generate.py [--mtfc build/mtfc] [--model char_lm] [--lengths 128 1024] [--runs 5] [--threads 1]
                            [--beams 1] [-- OPTIONS]

The model, one of models/, has its `length` set; a sequence is generated to that length, greedily or with beams, from
initial weights. Prints the least milliseconds per position of any run, which other programs disturb least, and their
ratio. OPTIONS go to mtfc, such as --mesh a:2 --layout heads:a,d_ff:a."""
import argparse
import pathlib
import re
import subprocess


def milliseconds(args, length):
    command = [args.mtfc, "generate", str(pathlib.Path(__file__).parents[2] / "models" / f"{args.model}.json"), "--set",
               f"length={length}", "--prompt-tokens", "1", "--threads", str(args.threads), "--beams", str(args.beams)]
    done = subprocess.run(command + args.options, capture_output=True, text=True)
    found = re.search(r"(\d+) positions in ([0-9.e+-]+) s", done.stderr)
    if done.returncode != 0 or not found:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return 1e3 * float(found.group(2)) / int(found.group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mtfc", default=str(pathlib.Path(__file__).parents[2] / "build" / "mtfc"))
    parser.add_argument("--model", default="char_lm")
    parser.add_argument("--lengths", type=int, nargs=2, default=[128, 1024])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--beams", type=int, default=1)
    parser.add_argument("options", nargs="*")
    args = parser.parse_args()
    found = {length: [] for length in args.lengths}
    for _ in range(args.runs):
        for length in args.lengths:
            found[length].append(milliseconds(args, length))
    least = [min(found[length]) for length in args.lengths]
    for length, milliseconds_each in zip(args.lengths, least):
        print(f"length {length:5}: {milliseconds_each:.4f} ms a token")
    print(f"ratio {least[1] / least[0]:.2f}")


if __name__ == "__main__":
    main()
