"""The golden memory of Megatron-LM's functional tests: peak bytes of the last rank of toy models."""

import published_rows as rows

NOTE = "bytes of the last stage; times of toy models say nothing, and are left out"
GPT2_TOKENS = 50257
MODELS = {"bert": "BERT of Megatron", "t5": "T5 of Megatron", "moe": "experts of Megatron", "mixtral": "experts of Megatron",
          "hybrid": "state-space layers", "nemotron": "Nemotron", "mimo": "several modalities",
          "multimodal-llava": "several modalities"}


def feature_needed(row, name):
    """The first feature that the model files lack, or that the row does not state; "" if there is none."""
    family = name.split("/")[0]
    if family in MODELS:
        return MODELS[family]
    checks = [
        (not row["devices"] or not row["tp"] or not row["pp"], "stated numbers of devices"),
        (row["fp8"] or "fp8" in name, "fp8"),
        (row["mla"], "latent attention in a GPT"),
        (row["experts"], "experts of Megatron"),
        (row["optimizer"] not in ("", "adam"), "the optimizer " + row["optimizer"]),
        (row["fsdp"] or "fsdp" in name or row["shard_strategy"], "Megatron's FSDP"),
        (row["swiglu"], "a GPT with swiglu"),
        (row["kv_groups"], "a GPT with grouped queries"),
        ("rope" in name, "a GPT with rotary positions"),
        (row["untied"], "a GPT with an output of its own"),
        (row["no_bias"], "a GPT without biases"),
        ("qk_layernorm" in name, "a GPT with normalized queries"),
        ("frozen" in name, "frozen variables"),
        ("uneven" in name or "account_for" in name, "stages of uneven layers"),
        ("grpo" in name, "reinforcement learning"),
        (not row["layers"] or not row["seq"], "stated sizes"),
        (not row["peak_allocated_bytes"], "a stated memory"),
    ]
    return next((feature for is_needed, feature in checks if is_needed), "")


def converted(row, index):
    name = row["test"]
    base = {"id": f"{name} {row['hardware_stack']}", "source": "megatron_golden", "split": rows.split_of(index)}
    needs = feature_needed(row, name)
    if needs:
        return rows.refused(needs, **base)
    tensor, stages, context = int(row["tp"]), int(row["pp"]), int(row["cp"] or 1)
    devices, micro, batch = int(row["devices"]), int(row["micro"]), int(row["global_batch"])
    data = devices // (tensor * stages * context)
    if data * tensor * stages * context != devices or batch % (micro * data):
        return rows.refused("devices that the axes make up", **base)
    per_chunk = int(row["layers_per_vstage"] or 0)
    chunks = int(row["layers"]) // stages // per_chunk if per_chunk else 1
    stack = row["hardware_stack"]
    dropout = float(row["hidden_dropout"] or 0.1)
    return {
        **base,
        **rows.gpt(row["layers"], row["d_model"], row["heads"], row["seq"],
                   rows.padded(int(row["vocab_arg"] or GPT2_TOKENS), tensor), batch, dropout,
                   stored_scores=row["attention"] != "flash"),
        "dtype": "bf16",
        "gradients": "f32" if row["bf16"] else "",
        "hardware": "h100" if "h100" in stack else "b200" if "gb200" in stack else "a100-80g",
        **rows.split_devices(data, tensor, stages, context),
        "zero": 1 if row["dist_optimizer"] else "",
        "microbatches": batch // (micro * data),
        "recompute": row["recompute"] or "",
        "sequence_parallel": "yes" if row["sequence_parallel"] else "",
        "chunks": chunks if chunks > 1 else "",
        "memory_bytes": row["peak_allocated_bytes"],
        "stage": "last",
    }


if __name__ == "__main__":
    rows.write(
        ["NVIDIA/Megatron-LM@d98e8a6, tests/functional_tests/test_cases/*/golden_values_*.json, BSD-3-Clause/Apache-2.0",
         NOTE],
        [converted(row, index) for index, row in enumerate(rows.read("megatron_golden_memory.csv"))],
    )
