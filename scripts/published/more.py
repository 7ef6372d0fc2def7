"""Runs that bigscience, InternEvo, torchtitan, MaxText and others publish."""

import published_rows as rows

# By how their names begin. Nodes of Jean Zay have four links of 100 Gbit/s, as those of InternEvo have.
HARDWARE = (("A100-80G 8/node (Jean Zay)", "a100-4x100g"), ("A100-80G 8/node, 4x100Gb", "a100-4x100g"), ("A100-80G", "a100-80g"),
            ("A800", "a100-80g"), ("V100-32G", "v100-32g"), ("V100-16G", "v100-16g"), ("H100-80G EFA", "h100-efa"),
            ("H100", "h100"), ("B200", "b200"), ("GB200", "b200"))
D_FF = {4096: 11008, 5120: 13824}  # InternLM's, as Llama's


def source_of(row):
    words = row["source"].split()
    return words[0].lower() if words[0] != "ultrascale" else "playbook_figures"


def hardware_of(row):
    return next((profile for name, profile in HARDWARE if row["hardware"].startswith(name)), row["hardware"].split(" (")[0])


def feature_needed(row):
    numbers = ("layers", "d_model", "heads", "seq", "vocab", "tp", "pp", "dp", "micro", "global_batch")
    missing = [name for name in numbers if not row[name]]
    checks = [
        ("fp8" in row["precision"] or "mxfp8" in row["precision"], "fp8"),
        ("8-bit Adam" in row["source"], "8-bit Adam"),
        (row["ep"] not in ("", "1"), "the sizes of its experts"),
        (row["recompute"] not in ("", "none", "full"), f"the recomputation '{row['recompute']}'"),
        (row["zero"].startswith("1 over") and row["zero"] != "1 over all", "ZeRO over a part of the devices"),
        (row["zero"] not in ("", "0", "1", "2", "3", "1 over all"), "a plain stage of ZeRO"),
        (missing, "a stated layout" if {"tp", "pp", "dp"} & set(missing) else "stated sizes"),
        (not row["step_s"] and not row["tok_s_gpu"] and not row["memory_gb"] and row["status"] == "ok", "a measured figure"),
        (row["model"] not in ("GPT", "InternLM-7B", "InternLM-20B"), f"the sizes of {row['model']}"),
    ]
    return next((feature for is_needed, feature in checks if is_needed), "")


def seconds_of(row):
    if row["step_s"]:
        return row["step_s"]
    if not row["tok_s_gpu"] or not row["global_batch"] or not row["seq"]:
        return ""
    return round(int(row["global_batch"]) * int(row["seq"]) / (float(row["tok_s_gpu"]) * int(row["devices"])), 6)


def layers_by_stage(layers, stages):
    """Where the layers don't fill the stages, the embedding and the head count as one each."""
    if stages == 1 or layers % stages == 0 or (layers + 2) % stages:
        return stages
    each = (layers + 2) // stages
    return " ".join(map(str, [each - 1] + [each] * (stages - 2) + [each - 1]))


def converted(row, index):
    base = {
        "id": f"{row['source']} {row['model']} {row['devices']} t{row['tp']} p{row['pp']} b{row['micro']} {index}",
        "source": source_of(row),
        "kind": "measured" if row["step_s"] or row["memory_gb"] else "derived",
        "hardware": hardware_of(row),
        "status": row["status"],
        "seconds": seconds_of(row),
        "split": rows.split_of(index),
    }
    needs = feature_needed(row)
    if needs:
        return rows.refused(needs, **base)
    data, tensor, stages = int(row["dp"]), int(row["tp"]), int(row["pp"])
    micro, batch, length = int(row["micro"]), int(row["global_batch"]), int(row["seq"])
    layers, d_model, heads = int(row["layers"]), int(row["d_model"]), int(row["heads"])
    if data * tensor * stages != int(row["devices"]):
        return rows.refused("devices that the axes make up", **base)
    if batch % (micro * data):
        return rows.refused("a batch that its microbatches make up", **base)
    vocab = rows.padded(int(row["vocab"]), tensor)
    model = (rows.gpt(layers, d_model, heads, length, vocab, batch) if row["model"] == "GPT" else
             rows.llama(layers, d_model, heads, heads, D_FF[d_model], length, vocab, batch))
    zero = "1" if row["zero"] == "1 over all" else row["zero"]
    by_stage = layers_by_stage(layers, stages)
    return {
        **base,
        **model,
        "dtype": "bf16",
        "gradients": "f32" if "accumulate in f32" in row["note"] else "",
        **rows.split_devices(data, tensor, stages),
        **({"stages": by_stage} if stages > 1 else {}),
        "zero": zero if zero != "0" else "",
        "microbatches": batch // (micro * data),
        "recompute": {"none": "", "full": "whole"}.get(row["recompute"], row["recompute"]),
        "group": f"{row['model']}-{layers}x{d_model}x{heads}-{batch}-{row['recompute']}",
        "memory_bytes": int(float(row["memory_gb"]) * 2**30) if row["memory_gb"] else "",
        "memory_kind": "reserved" if row["memory_gb"] else "",
        "note": row["note"].replace(",", ";"),
    }


if __name__ == "__main__":
    rows.write(
        ["bigscience-workshop/bigscience@9e64eda, InternLM/InternEvo@c628a8c, fms-fsdp@5a296af, MaxText@e591f30,"
         " tpu-recipes@c8cfe2f, playbook figures: Apache-2.0; torchtitan@b5bcd76: BSD-3; Megatron-MoE-ModelZoo@e865051: MIT"],
        [converted(row, index) for index, row in enumerate(rows.read("published_more.csv"))],
    )
