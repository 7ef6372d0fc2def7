"""The golden memory of Megatron-LM's functional tests: peak bytes of the last rank of toy models."""

import published_rows as rows

NOTE = "bytes of the last stage; times of toy models say nothing, and are left out"
GPT2_TOKENS = 50257
USUAL_DEVICES = 8
MODELS = {"bert": "BERT of Megatron", "t5": "T5 of Megatron", "moe": "experts of Megatron", "mixtral": "experts of Megatron",
          "hybrid": "state-space layers", "nemotron": "Nemotron", "mimo": "several modalities",
          "multimodal-llava": "several modalities"}


def feature_needed(row, name):
    """The first feature that the model files lack, or that the row does not state; "" if there is none."""
    family = name.split("/")[0]
    if family in MODELS:
        return MODELS[family]
    checks = [
        (not row["tp"] or not row["pp"], "stated numbers of devices"),
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
        ("tunable_overlap" in name, "groups of microbatches in interleaved stages"),
        ("defer_embedding_wgrad" in name, "gradients of an embedding that are put off"),
        ("cross_entropy_loss_fusion" in name, "a cross entropy that is compiled as a whole"),
        ("uninstall_te" in name, "a softmax whose steps are not fused"),
        ("offload" in name, "memory of the host"),
        ("graph" in name, "CUDA graphs"),
        ("mtp" in name, "several predicted tokens"),
        ("dsa" in name, "sparse attention"),
        ("precision_aware" in name, "moments of fewer bits"),
        ("uneven" in name or "account_for" in name, "stages of uneven layers"),
        ("grpo" in name, "reinforcement learning"),
        (any(not row[size] for size in ("layers", "d_model", "heads", "seq", "micro", "global_batch")), "stated sizes"),
        (not row["peak_allocated_bytes"], "a stated memory"),
    ]
    return next((feature for is_needed, feature in checks if is_needed), "")


def profile_of(stack):
    return "h100" if "h100" in stack else "b200" if "gb200" in stack else "a100-80g"


def stores_scores(row):
    """Whether attention holds all scores. Transformer Engine chooses a fused kernel where a test leaves it the choice, but the
    containers of the stacks dracooci had none that is deterministic with dropout."""
    if row["attention"] or row["impl"] != "transformer_engine":
        return row["attention"] not in ("flash", "fused")
    return "dracooci" in row["hardware_stack"]


def workspace_bytes(row, name, context):
    """Of cuBLAS for the forward and the backward thread, 32 MiB each by CUBLAS_WORKSPACE_CONFIG=:4096:8, which the tests of
    split sequences leave out on A100, and everywhere those that need not be deterministic, as those that reshard. PyTorch
    itself chooses 32 MiB on Hopper, and else 8.125. Of Transformer Engine's products: 32 MiB from Hopper on, and 4 before. And the attention mask of a
    microbatch, a byte for each pair of positions."""
    profile = profile_of(row["hardware_stack"])
    is_a100 = profile == "a100-80g"
    is_left_out = "nondeterministic" in name or "reshard" in name or (is_a100 and context > 1)
    each = 8.125 if is_left_out and profile != "h100" else 32
    engine = 0 if row["impl"] == "local" else 4 if is_a100 else 32
    return int((2 * each + engine) * 2**20) + int(row["micro"]) * int(row["seq"]) ** 2 // context


def held_gradients(row, microbatches):
    """Megatron has buffers for the gradients of all parameters, also where there are no microbatches to be added up: in f32
    beside bf16, and as the parameters beside f16."""
    if microbatches > 1:
        return ""
    return "f32" if row["bf16"] else "bf16"


def instances(name):
    """Of the distributed optimizer: each holds the whole state."""
    return 2 if "multi_dist_optimizer_instances" in name else 1


def with_zero(columns, row, name, data, context):
    """The distributed optimizer splits its state over all devices that share the gradients of a parameter, those of the context
    too, or over the devices of each of two instances."""
    if not row["dist_optimizer"]:
        return columns
    replicas = instances(name)
    if replicas > 1:
        columns["mesh"] = columns["mesh"].replace(f"data:{data}", f"replicas:{replicas},data:{data // replicas}")
        columns["layout"] = columns["layout"].replace("batch:data", "batch:replicas+data")
    columns["layout"] += ",zero:1:data" + ("+context" if context > 1 else "")
    return columns


def converted(row, index):
    name = row["test"]
    base = {"id": f"{name} {row['hardware_stack']}", "source": "megatron_golden", "split": rows.split_of(index)}
    needs = feature_needed(row, name)
    if needs:
        return rows.refused(needs, **base)
    tensor, stages, context = int(row["tp"]), int(row["pp"]), int(row["cp"] or 1)
    devices, micro, batch = int(row["devices"] or USUAL_DEVICES), int(row["micro"]), int(row["global_batch"])
    data = devices // (tensor * stages * context)
    is_even = data % instances(name) == 0 and data * tensor * stages * context == devices
    if not is_even or batch % (micro * data):
        return rows.refused("devices that the axes make up", **base)
    per_chunk = int(row["layers_per_vstage"] or 0)
    chunks = max(int(row["layers"]) // stages // per_chunk, 1) if per_chunk else 1
    return {
        **base,
        **rows.gpt(row["layers"], row["d_model"], row["heads"], row["seq"],
                   rows.padded(int(row["vocab_arg"] or GPT2_TOKENS), tensor), batch, float(row["hidden_dropout"] or 0.1),
                   stored_scores=stores_scores(row), head_norms="qk_layernorm" in name),
        "dtype": "bf16",
        "gradients": "f32" if row["bf16"] else "",
        "hardware": profile_of(row["hardware_stack"]),
        **with_zero(rows.split_devices(data, tensor, stages, context), row, name, data, context),
        "microbatches": batch // (micro * data),
        "recompute": row["recompute"] or "",
        "sequence_parallel": "yes" if row["sequence_parallel"] else "",
        "held_gradients": held_gradients(row, batch // (micro * data)),
        "workspace_bytes": workspace_bytes(row, name, context),
        "chunks": chunks if chunks > 1 else "",
        "memory_bytes": row["peak_allocated_bytes"],
        "stage": "last",
        "note": "" if row["devices"] else f"{USUAL_DEVICES} devices are assumed, as most tests have",
    }


if __name__ == "__main__":
    rows.write(
        ["NVIDIA/Megatron-LM@d98e8a6, tests/functional_tests/test_cases/*/golden_values_*.json, BSD-3-Clause/Apache-2.0",
         NOTE],
        [converted(row, index) for index, row in enumerate(rows.read("megatron_golden_memory.csv"))],
    )
