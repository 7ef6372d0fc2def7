#!/usr/bin/env python3
"""The benchmarks with a target that need no peer, or the peer torch_peers.py: a row each, with pass or FAIL.

  scripts/bench/table.py [--build build] [--peer torch_peers.py] [--rounds 5] [--json]

Takes some ten minutes, and with a peer twenty more, in which nothing else should run. The peers of attention.py,
generate.py, images.py and mixture_of_experts.py are beside them."""
import pathlib
import subprocess
import sys

BENCHMARKS = {"two_layer.py": True, "mnist.py": True, "language_model.py": True,  # has a peer
              "elementwise.py": False, "overhead.py": False, "denormals.py": False}


def without_peer(arguments):
    kept = []
    skip = False
    for argument in arguments:
        if not skip and not argument.startswith("--peer"):
            kept.append(argument)
        skip = not skip and argument == "--peer"
    return kept


def main():
    if {"-h", "--help"} & set(sys.argv[1:]):
        return print(__doc__)
    for name, peer in BENCHMARKS.items():
        arguments = sys.argv[1:] if peer else without_peer(sys.argv[1:])
        subprocess.run([pathlib.Path(__file__).with_name(name), *arguments], check=True)


if __name__ == "__main__":
    main()
