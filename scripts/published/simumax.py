"""SimuMax's measured runs of Megatron-LM on 8 B200."""

import published_rows as rows

# Heads and groups as in that tool's configs/models: its 405B has 16 groups where the published one has 8.
LLAMA = {"llama3-70b": (8192, 64, 8, 28672), "llama3-405b": (16384, 128, 16, 53248)}
# DeepSeek-V2 and V3 as published; every token goes to as many experts as they have places for.
DEEPSEEK = {
    "deepseekv2": ("deepseek_v2", dict(d_model=5120, attention_heads=128, d_ff=12288, expert_ff=1536, experts=160,
                                       choice=6, shared_experts=2, vocab=102400, capacity_factor=1)),
    "deepseekv3": ("deepseek_v3", dict(d_model=7168, attention_heads=128, d_ff=18432, expert_ff=2048, experts=256,
                                       choice=8, shared_experts=1, vocab=129280, capacity_factor=1)),
}
FIRST_DENSE = 1  # of each cut-down DeepSeek (simu_tools/megatron_scripts/scripts/run_pretrain_deepseekv2.sh)


def converted(row, index):
    tensor, context, expert = int(row["tp"]), int(row["cp"]), int(row["ep"])
    stages, data = int(row["pp"]), int(row["dp"])
    layers, length = int(row["layers"]), int(row["seq"])
    count = int(row["microbatches"])
    batch = data * int(row["micro"]) * count
    name = row["model"]
    base = {"id": row["case"], "source": "simumax", "seconds": round(float(row["real_ms"]) / 1000, 6), "split": "test"}
    if name not in LLAMA and name not in DEEPSEEK:
        return rows.refused(f"the sizes of {name}", **base)
    if name in LLAMA:
        d_model, heads, groups, d_ff = LLAMA[name]
        model = rows.llama(layers, d_model, heads, groups, d_ff, length, rows.padded(128256, tensor), batch)
    else:
        family, sizes = DEEPSEEK[name]
        model = {"model": family,
                 "set": rows.sets(layers=layers, first_sparse=FIRST_DENSE, batch=batch, length=length, **sizes)}
    return {
        **base,
        **model,
        "dtype": "bf16",
        "gradients": "f32",
        "hardware": "b200",
        **rows.split_devices(data, tensor, stages, context, expert),
        "zero": 1,
        "microbatches": count,
        "sequence_parallel": "yes" if tensor > 1 else "",
        "group": f"{name}-{layers}-{batch}-{length}",
        "memory_bytes": int(float(row["real_gib"]) * 2**30),
        "needs": "stages of a model whose first layers differ" if stages > 1 and name in DEEPSEEK else "",
        "note": "DeepSeek of few layers has one dense layer, the first; experts have even shares of tokens" if name in DEEPSEEK else "",
    }


if __name__ == "__main__":
    rows.write(
        ["MooreThreads/SimuMax@4dcaae5, docs/b200/b200_release_v1.2_summary.json, Apache-2.0: measured runs of Megatron-LM"],
        [converted(row, index) for index, row in enumerate(rows.read("simumax_b200.csv"))],
    )
