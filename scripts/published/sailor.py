"""The runs by which Sailor (SOSP 2025) was validated: Megatron-DeepSpeed on GH200 and on mixed cards."""

import published_rows as rows

NAMES = {"GH-96": "gh200"}
NOTE = "layers of stages without embedding and head, which the source counts as layers; vocabulary as stated, padded"


def converted(row, index):
    base = {"id": row["case"], "source": "sailor", "seconds": row["step_s"], "split": "test"}
    if "/" in row["hardware"]:
        return rows.refused("mixed devices", **base)
    if len(set(row["tp"].split())) > 1:
        return rows.refused("stages that are split differently", **base)
    data, tensor, count = int(row["dp"]), int(row["tp"].split()[0]), int(row["stages"])
    micro, batch, layers = int(row["micro"]), int(row["global_batch"]), int(row["layers"])
    by_stage = [int(word) for word in row["layers_per_stage"].split()]
    by_stage[0] -= 1
    by_stage[-1] -= 1
    if sum(by_stage) != layers:
        return rows.refused("stages whose layers add up", **base)
    if batch % (micro * data):
        return rows.refused("a batch that its microbatches make up", **base)
    return {
        **base,
        **rows.gpt(layers, row["d_model"], row["heads"], row["seq"], rows.padded(int(row["vocab"]), tensor), batch),
        "dtype": "bf16",
        "hardware": NAMES.get(row["hardware"], row["hardware"].lower()),
        **rows.split_devices(data, tensor, count),
        "stages": " ".join(map(str, by_stage)) if count > 1 else "",
        "microbatches": batch // (micro * data),
        "group": f"{row['model']}-{batch}",
        "memory_bytes": row["max_mem_bytes"],
        "note": NOTE,
    }


if __name__ == "__main__":
    rows.write(
        ["eth-easl/sailor@cf2c8e3, sailor/Planner/simulations/validation/**/plan_config_*.json, MIT"],
        [converted(row, index) for index, row in enumerate(rows.read("sailor_validation.csv"))],
    )
