"""The benchmark of llm-foundry: MPT models by FSDP on A100 and H100. Its facts stand in llm_foundry.csv beside this
script, which takes the folder of that file."""

import published_rows as rows

NOTE = "biases of gpt2 are not in MPT; parameters and gradients are gathered and scattered for each microbatch"
SHAPES = {  # layers, d_model, heads
    "125m": (12, 768, 12), "350m": (24, 1024, 16), "760m": (24, 1536, 12), "1b": (24, 2048, 16), "3b": (32, 2560, 20),
    "7b": (32, 4096, 32), "13b": (40, 5120, 40), "30b": (48, 7168, 56), "70b": (80, 8192, 64),
}
# Both have as much bandwidth between nodes as the clusters of these profiles.
HARDWARE = {"h100_80gb": "h100-efa", "a100_80gb": "selene", "a100_40gb": "a100-40g"}


def converted(row, index):
    layers, d_model, heads = SHAPES[row["model"]]
    length, devices, micro, batch = (int(row[key]) for key in ("seq", "devices", "micro", "global_batch"))
    is_whole = devices * micro * int(row["grad_acc"]) == batch
    return {
        "id": f"{row['gpu']}-{row['model']}-{length}-{devices}-b{micro}",
        "source": "llm-foundry",
        **rows.gpt(layers, d_model, heads, length, 50368, batch, dropout=0, stored_scores=False),
        "dtype": "bf16",
        "gradients": "f32" if row["amp"] == "yes" else "",
        "hardware": HARDWARE[row["gpu"]],
        "devices": devices,
        "mesh": f"data:{devices}",
        "layout": "fsdp",
        "microbatches": row["grad_acc"],
        "recompute": "whole" if row["ckpt"] == "yes" else "",
        "seconds": round(batch * length / float(row["tok_s"]), 4),
        "split": rows.split_of(index),
        "needs": "" if is_whole else "microbatches of different sizes",
    }


if __name__ == "__main__":
    rows.write(
        ["mosaicml/llm-foundry@061f2c7, scripts/train/benchmarking/README.md, Apache-2.0", NOTE],
        [converted(row, index) for index, row in enumerate(rows.read("llm_foundry.csv"))],
    )
