#!/usr/bin/env python3
"""Time per token of `mtfc generate` for one of the models, at two lengths, or beside PyTorch.

  scripts/bench/generate.py [--build build] [--model char_lm] [--lengths 128 1024] [--rounds 5] [--threads 1]
                            [--beams 1] [-- OPTIONS]
  scripts/bench/generate.py --model gpt2 --threads 2 --peer generate_peer.py

The model, one of models/, has its `length` set; a sequence is generated to that length, greedily or with beams, from
initial weights. Prints the least milliseconds per position of any run, which other programs disturb least, and their
ratio. With a peer, prints how many times as fast mtfc is at the first length: the median of the rounds, each the mean of all
positions. OPTIONS go to mtfc, such as --mesh a:2 --layout heads:a,d_ff:a."""
import argparse
import re
import subprocess

import side_by_side as bench


def milliseconds(args, length):
    command = [bench.program(args, "mtfc"), "generate", bench.ROOT / "models" / f"{args.model}.json", "--set",
               f"length={length}", "--prompt-tokens", "1", "--threads", args.threads, "--beams", args.beams]
    command = [str(part) for part in command + args.options]
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"(\d+) positions in ([0-9.e+-]+) s", done.stderr)
    if done.returncode != 0 or not found:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return 1e3 * float(found.group(2)) / int(found.group(1))


def compare(args):
    length = args.lengths[0]
    found = bench.medians(args.rounds, {
        "own": lambda: milliseconds(args, length),
        "peer": lambda: bench.peer_seconds(args, args.model, args.threads, ["--length", str(length)])})
    peer = min(found["peer"]) * 1e3
    bench.show(args, f"{args.model}, a token, {args.threads} threads", "times as fast as PyTorch", peer / found["own"], 2,
               token_ms=round(found["own"], 2), peer_ms=round(peer, 2))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    bench.add_arguments(parser)
    bench.add_peer_argument(parser)
    parser.add_argument("--model", default="char_lm")
    parser.add_argument("--lengths", type=int, nargs=2, default=[128, 1024])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--beams", type=int, default=1)
    parser.add_argument("options", nargs="*")
    args = parser.parse_args()
    bench.tell_settings()
    if args.peer:
        if args.beams > 1 or args.options:
            parser.error("the peer decodes greedily: give it neither --beams nor OPTIONS")
        return compare(args)
    found = {length: [] for length in args.lengths}
    for _ in range(args.rounds):
        for length in args.lengths:
            found[length].append(milliseconds(args, length))
    least = [min(found[length]) for length in args.lengths]
    for length, milliseconds_each in zip(args.lengths, least):
        print(f"length {length:5}: {milliseconds_each:.4f} ms a token")
    print(f"ratio {least[1] / least[0]:.2f}")


if __name__ == "__main__":
    main()
