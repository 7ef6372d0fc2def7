"""The benchmark of the Ultra-Scale Playbook: nanotron on 8 to 512 H100."""

import published_rows as rows

NOTES = [
    "memory is torch's largest allocated, in GiB, of the first device (nanotron.helpers.log_throughput), so of the first"
    " stage",
    "the software keeps what element-wise operations make, and has bf16 gradients of all parameters beside their f32 sums"
    " (the playbook counts 20 bytes for each parameter)",
    "runs of one stage with up to 8 devices of tensor parallelism keep the activations that they gather between parts; those"
    " with stages were made again, with a later nanotron that gathers them again (tp_recompute_allgather); those of one stage"
    " with more devices are of either kind, and count as the latter",
    "stages have the layers that nanotron.models.build_model gives them: it balances the products of layers and head",
    "runs that cannot run are refused by name: nanotron's 1F1B asserts p - 1 microbatches, and a stage without a block fails",
]
TIED = ("1B", "3B")  # their names count the embedding once
RULE = ("times are left out where a run takes more than 1.5 times as long as one with the same or a later stage of ZeRO,"
        " and the same split of devices, would take with as many microbatches, if these took as long as its own;"
        " and where it takes more than 5 times as long as the same microbatches on fewer devices")
LOGITS = ("its cross entropy (parallel/tensor_parallel/functional.py) holds the logits in f32 three times, as they come, less"
          " their largest, and their exponentials, of which the program holds one: 8 bytes for each are workspace_bytes of runs"
          " of one stage")
LOGIT_BYTES = 8
GATHER = ("after the update, ZeRO-1 of nanotron (optim/zero.py) copies one piece of each tensor from each device of the"
          " group, one after the other, in about 6 microseconds each for a slice, a view and a copy (assumed):"
          " software_s; a layer has 6 tensors")
ODD, ODD_AMONG_SIZES = 1.5, 5
PIECE_S = 6e-6
TENSORS_OF_LAYER, OTHER_TENSORS = 6, 3
NODE = 8


def is_odd(row, rows):
    """Whether the run contradicts another. Microbatches take no longer if they are smaller, nor does a step with fewer
    of them, nor one with an earlier stage of ZeRO."""
    same = ("model", "devices", "dp", "tp", "pp")
    steps = int(row["grad_acc"])
    others = [float(other["step_s_derived"]) * max(1, steps / int(other["grad_acc"])) for other in rows
              if other["step_s_derived"] and int(other["zero"]) >= int(row["zero"])
              and all(other[name] == row[name] for name in same)]
    return float(row["step_s_derived"]) > ODD * min(others)


def is_odd_among_sizes(row, rows):
    """Whether the run contradicts one on fewer devices, whose microbatches are the same: nothing in them depends on the
    number of replicas but the reduction of gradients, which would take most of the step."""
    same = ("model", "tp", "pp", "micro")
    rounds = int(row["grad_acc"]) + int(row["pp"]) - 1
    others = [float(other["step_s_derived"]) * rounds / (int(other["grad_acc"]) + int(other["pp"]) - 1)
              for other in rows
              if other["step_s_derived"] and int(other["devices"]) < int(row["devices"])
              and all(other[name] == row[name] for name in same)]
    return bool(others) and float(row["step_s_derived"]) > ODD_AMONG_SIZES * min(others)


def contradiction(row, rows):
    """The reason for which a time is left out, or nothing."""
    if is_odd(row, rows):
        return "its time contradicts that of a run that does as much"
    if is_odd_among_sizes(row, rows):
        return "its time contradicts that of the same microbatches on fewer devices"
    return ""


def logit_bytes(row):
    """Of a device, beyond those of the program."""
    return LOGIT_BYTES * int(row["micro"]) * int(row["seq"]) * int(row["vocab"]) // int(row["tp"])


def seconds_of_gather(row):
    """Of ZeRO-1, after the update."""
    tensors = TENSORS_OF_LAYER * int(row["layers"]) / int(row["pp"]) + OTHER_TENSORS
    return PIECE_S * tensors * int(row["dp"])


def blocks_by_stage(row, stages):
    """The blocks of each stage, by the rule of nanotron.models.build_model: embedding, layers, norm, head, cast and loss
    follow each other, and a stage takes blocks until the products so far exceed its share."""
    width, vocab, layers = int(row["d_model"]), int(row["vocab"]), int(row["layers"])
    layer = 4 * width * width + 3 * int(row["d_ff"]) * width
    blocks = [("embedding", 0), *[("layer", layer)] * layers, ("norm", 0), ("head", vocab * width), ("cast", 0), ("loss", 0)]
    whole = sum(cost for _, cost in blocks)
    found = [[] for _ in range(stages)]
    stage, so_far = 0, 0
    for name, cost in blocks:
        found[stage].append(name)
        so_far += cost
        if so_far * stages > whole * (stage + 1) and stage + 1 < stages:
            stage += 1
    return found


def needed(row, blocks):
    """The reason why the run cannot be expressed; "" if it can."""
    if int(row["dp"]) * int(row["micro"]) * int(row["grad_acc"]) != int(row["global_batch"]):
        return "a batch that its microbatches make up"
    if int(row["grad_acc"]) < int(row["pp"]) - 1:
        return "as many microbatches as stages but one"
    return "" if all(blocks) else "a block for each stage"


def converted(row, index, source):
    data, tensor, stages = int(row["dp"]), int(row["tp"]), int(row["pp"])
    is_ok = row["status"] == "ok"
    blocks = blocks_by_stage(row, stages)
    columns = {
        "id": f"{row['model']}-{row['devices']}-d{data}-t{tensor}-p{stages}-z{row['zero']}-b{row['micro']}",
        "source": "playbook",
        **rows.llama(row["layers"], row["d_model"], row["heads"], row["heads"], row["d_ff"], row["seq"], row["vocab"],
                     row["global_batch"], tied=int(row["model"] in TIED)),
        "dtype": "bf16",
        "gradients": "f32",
        "held_gradients": "bf16",
        "workspace_bytes": logit_bytes(row) if stages == 1 else "",
        "hardware": "h100-efa",
        **rows.split_devices(data, tensor, stages),
        "zero": row["zero"],
        "microbatches": row["grad_acc"],
        "without_passes": " ".join(["regather_between"] * (stages == 1 and tensor <= NODE) + ["recompute_cheap"]
                                   + ["start_ahead"] * (row["zero"] == "1")),
        "reduction": "in_last" if data > 1 and stages == 1 else "",
        "software_s": f"{seconds_of_gather(row):.4g}" if row["zero"] == "1" and data > 1 else "",
        "sequence_parallel": "yes" if tensor > 1 else "",
        "group": row["model"],
        "status": "ok" if is_ok else "failed",
        "seconds": row["step_s_derived"] if is_ok and not contradiction(row, source) else "",
        "note": contradiction(row, source) if is_ok else "",
        "memory_bytes": int(float(row["memory_gb"]) * 2**30) if row["memory_gb"] else "",
        "split": rows.split_of(index),
        "needs": needed(row, blocks),
    }
    if stages > 1:
        columns["stage"] = "first"
        columns["stages"] = " ".join(str(names.count("layer")) for names in blocks)
    return columns


if __name__ == "__main__":
    source = rows.read("nanotron_ultrascale.csv")
    rows.write(
        ["Hugging Face, Ultra-Scale Playbook, benchmarks_interactive.html (vinjn/nanotron-ultrascale-playbook@924e4d0),"
         " Apache-2.0", *NOTES, RULE, LOGITS, GATHER],
        [converted(row, index, source) for index, row in enumerate(source)],
    )
