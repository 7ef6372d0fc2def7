#!/usr/bin/env python3
"""Bundled models on several hosts: their losses beside those on one device, and the bytes at the hosts' network interfaces
beside those that the report predicts.

  scripts/between_hosts.py [--build build] [--hosts 2,4] [--ranks 1,2] [--only MODEL,...] [--steps 4,10] [--json]

The hosts are network namespaces of this machine (scripts/hosts.sh, which needs root). Each case runs twice, with fewer and
with more steps; the difference leaves out what a run sends when it starts and ends. Headers are 66 bytes a packet
(Ethernet, IP, TCP). TCP sends some segments twice where a busy core answers late; these are left out, too. A case passes
where every loss, in f64, is within 1e-12 of that on one device, and the bytes that each host sends, without headers and
repeated segments, within 1 % of its prediction. A case that is off is tried up to twice more. Exit code 1 if one does not
pass, 77 if the system does not allow such hosts."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[1]
HEADER_BYTES = 66
SEGMENT_BYTES = 1448  # of an Ethernet packet with TCP's timestamps
MOST_BYTES_OFF = 0.01
MOST_LOSS_OFF = 1e-12
ATTEMPTS = 3

LM = ["vocab", "d_ff", "heads"]
# Sizes, and the dimensions that the model-parallel layouts split. A step sends 100 kB at least: on a busy machine a run may
# send a few kB more than another.
MODELS = {
    "mnist": ({"batch": 2048, "hidden": 128}, ["hidden"]),
    "mnist_conv": ({"batch": 16, "channels": 32, "channels2": 64}, ["channels2"]),
    "char_lm": ({"batch": 8, "length": 64, "d_model": 128, "d_ff": 512, "heads": 8}, LM),
    "transformer_lm": ({"batch": 8, "length": 64, "vocab": 1024, "d_model": 128, "d_ff": 512, "heads": 8, "d_kv": 16,
                        "layers": 2}, LM),
    "transformer_encdec": ({"batch": 8, "length": 32, "memory_length": 32, "vocab": 1024, "d_model": 128, "d_ff": 512,
                            "heads": 8, "d_kv": 16, "layers": 2}, LM),
    "moe_lm": ({"batch": 8, "length": 64, "vocab": 1024, "d_model": 128, "d_ff": 256, "heads": 8, "d_kv": 16, "layers": 2,
                "experts": 8}, ["vocab", "heads", "experts"]),
}


def layouts(split, hosts, ranks):
    """By name: the mesh, and the rules."""
    devices = hosts * ranks
    found = {"data": (f"all:{devices}", "batch:all"),
             "model": (f"all:{devices}", ",".join(f"{dim}:all" for dim in split))}
    if devices > 2:
        rows = hosts if ranks > 1 else 2
        rules = ["batch:rows"] + [f"{dim}:cols" for dim in split]
        found["both"] = (f"rows:{rows},cols:{devices // rows}", ",".join(rules))
    return found


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode == 77:
        print(done.stderr.strip(), file=sys.stderr)
        sys.exit(77)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stderr}")


def losses(metrics):
    return [json.loads(line)["loss"] for line in metrics.read_text().splitlines()]


class Case:
    def __init__(self, args, folder, model):
        self.args, self.folder, self.model = args, folder, model
        sizes, self.split = MODELS[model]
        self.options = [ROOT / "models" / f"{model}.json", "--dtype", "f64", "-q"]
        for name, size in sizes.items():
            self.options += ["--set", f"{name}={size}"]

    def mtfc(self, steps, metrics, *options):
        return [pathlib.Path(self.args.build).resolve() / "mtfc", "run", *self.options, "--steps", steps, "--metrics",
                metrics, *options]

    def alone(self):
        metrics = self.folder / "alone.jsonl"
        run(self.mtfc(self.args.steps[-1], metrics))
        return losses(metrics)

    def on_hosts(self, hosts, ranks, layout, steps):
        """The traffic of each host, the losses, and the bytes that the report predicts for a step, by host."""
        mesh, rules = layout
        traffic, metrics, report = (self.folder / name for name in ("traffic.json", "metrics.jsonl", "report.json"))
        run([ROOT / "scripts" / "hosts.sh", "--hosts", hosts, "--cores", "--traffic", traffic, ranks,
             *self.mtfc(steps, metrics, "--mesh", mesh, "--layout", rules, "--threads", 1, "--report", report)])
        sent = [json.loads(line) for line in traffic.read_text().splitlines()]
        predicted = json.loads(report.read_text())["predicted"]["communication"]["between_nodes"]["by_node"]
        return sent, losses(metrics), predicted

    def measure(self, hosts, ranks, layout, expected):
        few, many = self.args.steps
        before, _, _ = self.on_hosts(hosts, ranks, layout, few)
        after, found, predicted = self.on_hosts(hosts, ranks, layout, many)
        per_step = [[(b[key] - a[key]) / (many - few) for a, b in zip(before, after)]
                    for key in ("sent", "packets_sent", "segments_resent")]
        # A segment that was sent twice may have been short, and one in either run may be missing from the count of these.
        uncounted = SEGMENT_BYTES / (many - few)
        most = [sent - HEADER_BYTES * packets + uncounted for sent, packets, _ in zip(*per_step)]
        least = [sent - HEADER_BYTES * packets - SEGMENT_BYTES * resent - uncounted
                 for sent, packets, resent in zip(*per_step)]
        return {"predicted": max(predicted), "sent": max(per_step[0]),
                "off": max(max(q - high, low - q, 0) / max(q, 1) for low, high, q in zip(least, most, predicted)),
                "loss_off": max(abs(a - b) / max(abs(b), 1e-30) for a, b in zip(found, expected))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build"))
    numbers = lambda text: [int(part) for part in text.split(",")]
    parser.add_argument("--hosts", type=numbers, default=[2, 4])
    parser.add_argument("--ranks", type=numbers, default=[1, 2], help="ranks on each host")
    parser.add_argument("--only", default=",".join(MODELS))
    parser.add_argument("--layouts", default="data,model,both")
    parser.add_argument("--steps", type=numbers, default=[4, 10])
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if unknown := [name for name in args.only.split(",") if name not in MODELS]:
        parser.error(f"unknown model {unknown[0]} (the models are {', '.join(MODELS)})")
    if not args.json:
        print(f"{'model':<20}{'hosts':<7}{'layout':<8}{'predicted':>12}{'interface':>12}{'off':>8}{'loss off':>10}")
    passed = True
    with tempfile.TemporaryDirectory() as name:
        for model in args.only.split(","):
            case = Case(args, pathlib.Path(name), model)
            expected = case.alone()
            for hosts in args.hosts:
                for ranks in args.ranks:
                    for layout, rules in layouts(case.split, hosts, ranks).items():
                        if layout not in args.layouts.split(","):
                            continue
                        for _ in range(ATTEMPTS):
                            row = case.measure(hosts, ranks, rules, expected)
                            good = row["off"] <= MOST_BYTES_OFF and row["loss_off"] <= MOST_LOSS_OFF
                            if good:
                                break
                        passed &= good
                        if args.json:
                            print(json.dumps({"model": model, "hosts": hosts, "ranks": ranks, "layout": layout,
                                              "passed": good, **row}), flush=True)
                            continue
                        print(f"{model:<20}{f'{hosts} x {ranks}':<7}{layout:<8}{row['predicted']:>12,.0f}"
                              f"{row['sent']:>12,.0f}{row['off']:>8.2%}{row['loss_off']:>10.1e}"
                              f"{'' if good else '  FAILED'}", flush=True)
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
