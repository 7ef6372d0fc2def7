"""The benchmark of the Ultra-Scale Playbook: nanotron on 8 to 512 H100."""

import published_rows as rows

NOTE = "memory is torch's largest allocated, in GiB; gradients are summed in f32; stages have equal numbers of layers"
TIED = ("1B", "3B")  # their names count the embedding once
RULE = ("times are left out where a run takes more than 1.5 times as long as one that differs in a microbatch of the same"
        " or a smaller size alone")
ODD = 1.5


def is_odd(row, rows):
    """Whether the run contradicts one that does the same work in microbatches that are not larger."""
    same = ("model", "devices", "dp", "tp", "pp", "zero")
    others = [float(other["step_s_derived"]) for other in rows
              if other["step_s_derived"] and int(other["micro"]) <= int(row["micro"])
              and all(other[name] == row[name] for name in same)]
    return float(row["step_s_derived"]) > ODD * min(others)


def converted(row, index, source):
    data, tensor, stages = int(row["dp"]), int(row["tp"]), int(row["pp"])
    is_ok = row["status"] == "ok"
    is_whole = data * int(row["micro"]) * int(row["grad_acc"]) == int(row["global_batch"])
    return {
        "id": f"{row['model']}-{row['devices']}-d{data}-t{tensor}-p{stages}-z{row['zero']}-b{row['micro']}",
        "source": "playbook",
        **rows.llama(row["layers"], row["d_model"], row["heads"], row["heads"], row["d_ff"], row["seq"], row["vocab"],
                     row["global_batch"], tied=int(row["model"] in TIED)),
        "dtype": "bf16",
        "gradients": "f32",
        "hardware": "h100-efa",
        **rows.split_devices(data, tensor, stages),
        "zero": row["zero"],
        "microbatches": row["grad_acc"],
        "sequence_parallel": "yes" if tensor > 1 else "",
        "group": row["model"],
        "status": "ok" if is_ok else "failed",
        "seconds": row["step_s_derived"] if is_ok and not is_odd(row, source) else "",
        "note": "its time contradicts that of a smaller microbatch" if is_ok and is_odd(row, source) else "",
        "memory_bytes": int(float(row["memory_gb"]) * 2**30) if row["memory_gb"] else "",
        "split": rows.split_of(index),
        "needs": "" if is_whole else "a batch that its microbatches make up",
    }


if __name__ == "__main__":
    source = rows.read("nanotron_ultrascale.csv")
    rows.write(
        ["Hugging Face, Ultra-Scale Playbook, benchmarks_interactive.html (vinjn/nanotron-ultrascale-playbook@924e4d0),"
         " Apache-2.0", NOTE, RULE],
        [converted(row, index, source) for index, row in enumerate(source)],
    )
