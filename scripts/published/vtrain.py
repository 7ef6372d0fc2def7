"""vTrain (MICRO 2024): measured runs of Megatron's GPT on 64 to 512 A100, or with the argument `single` the output of
a simulator on up to 8."""

import sys

import published_rows as rows

NOTE = "full recomputation and vocabulary 51200 assumed; f16 counts as bf16"


def converted(row, index, is_single):
    number = {name.strip("# ").lower(): value for name, value in row.items()}
    tensor, data, stages = (int(number[name + " parallelism"]) for name in ("tensor", "data", "pipeline"))
    micro, batch = int(number["micro batch"]), int(number["global batch"])
    layers, d_model = int(number["layers"]), int(number["hidden size"])
    size = number.get("parameters (billion)", "")
    return {
        "id": f"{size or f'{layers}x{d_model}'}-t{tensor}-d{data}-p{stages}-b{micro}-{index}",
        "source": "vtrain_single" if is_single else "vtrain",
        "kind": "simulated" if is_single else "measured",
        **rows.gpt(layers, d_model, int(number["attention heads"]), int(number["sequence length"]), 51200, batch),
        "dtype": "bf16",
        "hardware": "a100-hdr4",
        **rows.split_devices(data, tensor, stages),
        "microbatches": batch // (micro * data),
        "recompute": "whole",
        "group": f"{layers}x{d_model}-{batch}",
        "seconds": round(float(number["iteration time (ms)"]) / 1000, 6),
        "split": rows.split_of(index),
        "note": NOTE,
    }


if __name__ == "__main__":
    single = sys.argv[2:] == ["single"]
    source = rows.read("vtrain_single.csv" if single else "vtrain_multi.csv")
    rows.write(
        ["vTrain (MICRO 2024), its repository's data/ground_truth_*.csv, permissive"
         + ("; a simulator's output, which is no measurement" if single else "")],
        [converted(row, index, single) for index, row in enumerate(source)],
    )
