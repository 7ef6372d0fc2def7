"""Training of GPT on the CPUs of Fugaku, by DeepSpeedFugaku."""

import published_rows as rows

NOTE = "vocabulary 50257, padded; scores are stored; memory is what a process is said to use, in MiB"


def feature_needed(row):
    if row["consistent"] != "yes":
        return "numbers of processes that agree"
    if "processes per node" in row["note"]:
        return "several devices in the memory of a node"
    if row["recompute"] not in ("yes", "no"):
        return "a stated recomputation"
    return ""


def converted(row, index):
    data, tensor, stages = int(row["dp"]), int(row["tp"]), int(row["pp"])
    micro, batch = int(row["micro"]), int(row["global_batch"])
    base = {
        "id": f"{row['model']}-n{row['nodes']}-d{data}-t{tensor}-p{stages}-{row['pytorch'] or 'x'}-{row['ghz']}-{index}",
        "source": "fugaku",
        "kind": "derived" if "estimated" in row["note"] else "measured",
        "seconds": row["step_s"],
        "split": rows.split_of(index),
    }
    needs = feature_needed(row)
    if needs:
        return rows.refused(needs, **base)
    return {
        **base,
        **rows.gpt(row["layers"], row["d_model"], row["heads"], row["seq"], rows.padded(50257, tensor), batch),
        "dtype": "f32",
        "hardware": "fugaku",
        **rows.split_devices(data, tensor, stages),
        "microbatches": batch // (micro * data),
        "recompute": "full" if row["recompute"] == "yes" else "",
        "group": f"{row['model']}-{row['seq']}-{batch}",
        "status": row["status"],
        "memory_bytes": int(float(row["memory_mib"]) * 2**20) if row["memory_mib"] else "",
        "memory_kind": "reserved" if row["memory_mib"] else "",
        "note": "; ".join(word for word in (f"{row['ghz']} GHz, PyTorch {row['pytorch'] or 'not stated'}", row["note"]) if word),
    }


if __name__ == "__main__":
    rows.write(
        ["Fugaku-LLM/DeepSpeedFugaku, experiments/124m_13b_benchmarking/*.md in its history, BSD-3/Apache-2.0", NOTE],
        [converted(row, index) for index, row in enumerate(rows.read("fugaku_cpu_training.csv"))],
    )
