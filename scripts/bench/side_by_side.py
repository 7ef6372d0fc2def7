"""Code that the benchmark scripts share: programs run in alternation, medians, and rows of work, measure, target.

A row is a ratio of two things measured in turn in one run, so that a busy or throttled machine slows both."""
import array
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]


def add_arguments(parser):
    parser.add_argument("--build", default=str(ROOT / "build"), help="folder with mtfc and the benchmark programs")
    parser.add_argument("--json", action="store_true", help="a JSON object a line instead of text")
    parser.add_argument("--rounds", type=int, default=5, help="times that everything is run in turn")


def tell_settings():
    """What the environment says to the libraries: it may choose slower kernels than the processor has."""
    settings = [f"{name}={value}" for name, value in sorted(os.environ.items())
                if name.startswith(("OPENBLAS_", "OMP_", "GOMP_"))]
    print(f"environment: {', '.join(settings) or 'nothing set'}", file=sys.stderr)


def add_peer_argument(parser):
    parser.add_argument("--peer", help="a script that prints seconds_per_step of the same model in PyTorch, called as "
                        "/usr/bin/python3 PEER --threads T --only MODEL")


def output_of(command, environment=None):
    """Standard output of a program; the script ends with its errors where it fails."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          env={**os.environ, **(environment or {})})
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stderr}")
    return done.stdout


def program(args, name):
    path = pathlib.Path(args.build) / name
    if not path.exists():
        sys.exit(f"{path} is missing (build it with: ninja -C {args.build} mtfc benchmarks)")
    return path


def launcher():
    for name in ("mpiexec.mpich", "mpiexec.hydra", "mpiexec"):
        for folder in os.environ["PATH"].split(":"):
            if os.access(os.path.join(folder, name), os.X_OK):
                return name
    sys.exit("no mpiexec of MPICH is installed")


def write_npy(path, shape, values, kind="f"):
    """An array file of 4-byte numbers: floats ("f") or integers ("i")."""
    dims = "".join(f"{size}, " for size in shape)
    header = f"{{'descr': '<{kind}4', 'fortran_order': False, 'shape': ({dims}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    data = array.array(kind, values).tobytes()
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data)


def sgemm_rate(args, ranks, threads):
    """Flops per second of all ranks together, through the library and the calls that mtfc makes."""
    start = [launcher(), "-n", ranks] if ranks > 1 else []
    return json.loads(output_of(start + [program(args, "sgemm_bench"), threads]))["flops_per_second"]


def step_seconds(args, folder, options, ranks, threads, steps):
    """Median step time of `mtfc run`, without the first two steps."""
    metrics = folder / "metrics.jsonl"
    start = [launcher(), "-n", ranks] if ranks > 1 else []
    output_of(start + [program(args, "mtfc"), "run", *options, "--threads", threads, "--steps", steps + 2,
                       "--metrics", metrics, "--quiet"])
    times = [json.loads(line)["step_time"] for line in metrics.read_text().splitlines()]
    return statistics.median(times[2:])


def peer_seconds(args, model, cores, more=()):
    """Step time of the peer in either of two settings of its thread pools; the faster one counts."""
    settings = [({"OMP_NUM_THREADS": str(cores), "OPENBLAS_NUM_THREADS": str(cores)}, cores),
                ({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": str(cores)}, 1)]
    return [json.loads(output_of(["/usr/bin/python3", args.peer, "--threads", threads, "--only", model, *more],
                                 environment).splitlines()[-1])["seconds_per_step"]
            for environment, threads in settings]


def medians(rounds, measures):
    """Runs every measure in turn, `rounds` times. A measure gives a number or a list of numbers."""
    samples = {name: [] for name in measures}
    for _ in range(rounds):
        for name, measure in measures.items():
            samples[name].append(measure())
    return {name: [statistics.median(column) for column in zip(*values)] if isinstance(values[0], list)
            else statistics.median(values) for name, values in samples.items()}


def say_skipped(model):
    print(f"SKIPPED: {model} against PyTorch (name the peer's script with --peer)", file=sys.stderr)


def show(args, work, measure, value, target, least=True, **more):
    """One row. `least`: the value is to reach the target; otherwise not to pass it."""
    passed = value >= target if least else value <= target
    if args.json:
        print(json.dumps({"work": work, "measure": measure, "value": round(value, 4), "target": target,
                          "passed": passed, **more}), flush=True)
        return
    figures = "  ".join(f"{name} {figure}" for name, figure in more.items())
    print(f"{'pass' if passed else 'FAIL'}  {work:44} {measure:34} {value:8.3f}  "
          f"{'at least' if least else 'at most'} {target:g}   {figures}", flush=True)
