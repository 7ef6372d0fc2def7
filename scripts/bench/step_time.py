"""What a step takes on this machine, as `mtfc run` measures it, and what a profile predicts of it."""
import json
import statistics
import subprocess


def call(*words):
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)


def predicted_seconds(mtfc, folder, arguments, profile):
    report = folder / "predicted.json"
    call(mtfc, "cost-report", *arguments, "-q", "--hardware", profile, "--format", "json", "-o", report)
    return json.loads(report.read_text())["layouts"][0]["time"]["step_s"]


def measured_seconds(mtfc, folder, arguments, inputs, steps):
    """Median of the steps after the first two, without the mean time to make inputs."""
    report, lines = folder / "measured.json", folder / "lines.jsonl"
    data = [word for source in inputs for word in ("--input", source)]
    call(mtfc, "run", *arguments, *data, "-q", "--steps", steps, "--report", report, "--metrics", lines)
    times = [json.loads(line)["step_time"] for line in lines.read_text().splitlines()][2:]
    return statistics.median(times) - json.loads(report.read_text())["run"]["time"]["input_seconds"]


def steps_for(seconds, expected):
    """Steps that take about so many seconds where one is expected to take `expected`."""
    return max(10, int(seconds / expected))
