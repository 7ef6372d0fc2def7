#!/usr/bin/env python3
"""What the executor adds to a kernel: steps of 1,000 kernels on tensors of four elements.

  scripts/bench/overhead.py [--build build] [--rounds 5] [--json]"""
import argparse
import json
import statistics

import side_by_side as bench


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    bench.add_arguments(parser)
    args = parser.parse_args()
    bench.tell_settings()
    found = {}
    for _ in range(args.rounds):
        for line in bench.output_of([bench.program(args, "overhead_bench")]).splitlines():
            row = json.loads(line)
            found.setdefault(row["case"], []).append(row)
    for case, rows in found.items():
        bench.show(args, f"a step of tiny kernels, {case}", "microseconds a kernel",
                   statistics.median(row["seconds_per_kernel"] for row in rows) * 1e6, 1, least=False,
                   kernels=rows[0]["kernels"])


if __name__ == "__main__":
    main()
