"""ZeRO-3 against tensors, pipelines and data in parallel. The facts stand in narayanan.csv beside this script, which takes
the folder of that file."""

import published_rows as rows

LENGTH, VOCAB = 2048, 51200


def seconds_of(row):
    """By the operations of a step that the paper states in its equation 3."""
    layers, width, batch = int(row["layers"]), int(row["d_model"]), int(row["batch"])
    share = 1 + LENGTH / (6 * width) + VOCAB / (16 * layers * width)
    flops = 96 * batch * LENGTH * layers * width**2 * share
    return flops / (int(row["devices"]) * float(row["tflops"]) * 1e12)


def converted(row):
    tensor, stages, devices = int(row["tensor"]), int(row["stages"]), int(row["devices"])
    data = devices // (tensor * stages)
    is_zero = row["scheme"] == "ZeRO-3"
    return {
        "id": f"{row['scheme']} {row['params_B']} {devices}",
        "source": "narayanan2021-t2",
        "kind": "derived",
        **rows.gpt(row["layers"], row["d_model"], row["heads"], LENGTH, VOCAB, row["batch"]),
        "dtype": "bf16",
        "hardware": "selene",
        **rows.split_devices(data, tensor, stages),
        "zero": 3 if is_zero else "",
        "microbatches": int(row["batch"]) // (int(row["micro"]) * data),
        "recompute": "refetched" if is_zero else "whole",
        "without_passes": "schedule start_ahead" if is_zero else "",
        "group": f"GPT-{row['params_B']}",
        "seconds": f"{seconds_of(row):.6g}",
        "split": "test",
    }


if __name__ == "__main__":
    rows.write(
        ["Narayanan et al. 2021 (arXiv 2104.04473), table 2; stages are not interleaved (assumed); ZeRO-3 of DeepSpeed gathers"
         " parameters for each pass over a layer, in the forward pass, again before its backward pass, and for that; nothing"
         " overlaps (assumed)"],
        [converted(row) for row in rows.read("narayanan.csv")],
    )
