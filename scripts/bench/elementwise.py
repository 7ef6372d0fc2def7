#!/usr/bin/env python3
"""Element-wise work beside a plain copy of the same bytes: optimizer update, normalisations, activations, losses.

  scripts/bench/elementwise.py [--build build] [--rounds 3] [--json]"""
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
        for threads in (1, 2):
            for line in bench.output_of([bench.program(args, "elementwise_bench"), threads]).splitlines():
                row = json.loads(line)
                found.setdefault((row["case"], threads), []).append(row)
    for (case, threads), rows in found.items():
        bench.show(args, f"{case}, {threads} thread{'s' if threads > 1 else ''}", "of the bandwidth of a copy",
                   statistics.median(row["ratio"] for row in rows), 0.75,
                   step_ms=round(statistics.median(row["seconds"] for row in rows) * 1e3, 2),
                   copy_ms=round(statistics.median(row["copy_seconds"] for row in rows) * 1e3, 2),
                   steps=rows[0]["steps"])


if __name__ == "__main__":
    main()
