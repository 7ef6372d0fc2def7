#!/usr/bin/env python3
"""Time per token of `mtfc generate` for one of the models, at two lengths, or beside PyTorch.

  scripts/bench/generate.py [--build build] [--model char_lm] [--lengths 128 1024] [--rounds 5] [--threads 1]
                            [--beams 1] [-- OPTIONS]
  scripts/bench/generate.py --model gpt2 --threads 2 --peer generate_peer.py
  scripts/bench/generate.py --model gpt2 --threads 2 --weights
  scripts/bench/generate.py --model gpt2 --threads 2 --prompt 512

The model, one of models/, has its `length` set; a sequence is generated to that length, greedily or with beams, from
initial weights. Prints the least milliseconds per position of any run, which other programs disturb least, and their
ratio.

The other forms print ratios of medians of the rounds, at the first length: --peer how many times as fast as PyTorch a token
is made, --weights how many times as fast from bf16 and int8 weights as from f32, and --prompt how many times as fast a prompt
of so many tokens is read at once as one by one. OPTIONS go to mtfc, such as --mesh a:2 --layout heads:a,d_ff:a."""
import argparse
import re
import subprocess

import side_by_side as bench


def times(args, options):
    """Milliseconds of the prompt, where it is read at once, and of all positions together."""
    command = [bench.program(args, "mtfc"), "generate", bench.ROOT / "models" / f"{args.model}.json", "--threads",
               args.threads]
    command = [str(part) for part in command + options + args.options]
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.findall(r"positions (?:of the prompt )?in ([0-9.e+-]+) s", done.stderr)
    if done.returncode != 0 or not found:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return [1e3 * float(seconds) for seconds in found]


def milliseconds(args, length, options=()):
    """Of a position. The last token needs none."""
    search = ["--greedy"] if args.beams == 1 else ["--beams", args.beams]
    return times(args, ["--set", f"length={length}", "--prompt-tokens", "1", *search, *options])[-1] / (length - 1)


def compare(args):
    length = args.lengths[0]
    found = bench.medians(args.rounds, {
        "own": lambda: milliseconds(args, length),
        "peer": lambda: bench.peer_seconds(args, args.model, args.threads, ["--length", str(length)])})
    peer = min(found["peer"]) * 1e3
    bench.show(args, f"{args.model}, a token, {args.threads} threads", "times as fast as PyTorch", peer / found["own"], 2,
               token_ms=round(found["own"], 2), peer_ms=round(peer, 2))


def compare_weights(args):
    """Of each format, the target of the ratio to f32."""
    targets = {"bf16": 1.7, "int8": 3}
    found = bench.medians(args.rounds, {
        weights: lambda weights=weights: milliseconds(args, args.lengths[0], ["--weights", weights])
        for weights in ("f32", *targets)})
    for weights, target in targets.items():
        bench.show(args, f"{args.model}, a token, {args.threads} threads, {weights}", "times as fast as f32 weights",
                   found["f32"] / found[weights], target, token_ms=round(found[weights], 2),
                   f32_ms=round(found["f32"], 2))


def prompt_milliseconds(args, options):
    tokens = ",".join(str(1 + 7 * i % 250) for i in range(args.prompt))
    return sum(times(args, ["--set", f"length={args.prompt + 1}", "--prompt-tokens", tokens, "--length", 1, "--greedy",
                            *options]))


def compare_prompt(args):
    found = bench.medians(args.rounds, {"at_once": lambda: prompt_milliseconds(args, []),
                                        "one_by_one": lambda: prompt_milliseconds(args, ["--one-by-one"])})
    bench.show(args, f"{args.model}, a prompt of {args.prompt}, {args.threads} threads", "times as fast as one by one",
               found["one_by_one"] / found["at_once"], 10, **{name: f"{ms:.0f} ms" for name, ms in found.items()})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    bench.add_arguments(parser)
    bench.add_peer_argument(parser)
    parser.add_argument("--model", default="char_lm")
    parser.add_argument("--lengths", type=int, nargs=2, default=[128, 1024])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--beams", type=int, default=1)
    parser.add_argument("--weights", action="store_true", help="compare the formats of weights")
    parser.add_argument("--prompt", type=int, help="compare the ways to read a prompt of so many tokens")
    parser.add_argument("options", nargs="*")
    args = parser.parse_args()
    bench.tell_settings()
    if args.weights:
        return compare_weights(args)
    if args.prompt:
        return compare_prompt(args)
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
