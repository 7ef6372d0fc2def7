"""Training of GPT on the CPUs of Fugaku, by DeepSpeedFugaku."""

import published_rows as rows

NOTE = "vocabulary 50257, padded; scores are stored; memory is what a process is said to use, in MiB"
RULE = ("times are left out where a run takes more than 1.5 times as long as it would if a run on more nodes, or on as many,"
        " had lost nothing by them")
ODD = 1.5


def products_of(row):
    """The floating-point operations of a step, without recomputation."""
    layers, d_model, length, batch = (int(row[name]) for name in ("layers", "d_model", "seq", "global_batch"))
    return 6 * batch * length * (layers * d_model * (12 * d_model + 2 * length) + d_model * 50257)


def recomputation_of(row):
    """The authors' operations per second count what is recomputed: a third more, which says it where they don't."""
    if row["recompute"] in ("yes", "no") or not row["tflops_node"] or not row["step_s"]:
        return row["recompute"]
    counted = float(row["tflops_node"]) * 1e12 * float(row["step_s"]) * int(row["nodes"])
    return "yes" if counted > 7 / 6 * products_of(row) else "no"


def software_of(row):
    """The allocator decides how fast new tensors are written, and a profile is of one."""
    return "fugaku-tcmalloc" if "tcmalloc" in row["note"] else "fugaku"


def is_odd(row, source):
    """Whether the run contradicts one of the same work on as many nodes or more, which can't be faster than by their number.

    Recomputation takes a third more, and tcmalloc is never slower.
    """
    same = ("model", "layers", "seq", "global_batch", "tp", "pp", "pytorch")
    shares = [float(other["step_s"]) * int(other["nodes"]) / int(row["nodes"])
              * (4 / 3 if recomputation_of(row) != recomputation_of(other) == "no" else 1)
              for other in source
              if other["step_s"] and int(other["nodes"]) >= int(row["nodes"]) and software_of(other) in ("fugaku", software_of(row))
              and "processes per node" not in other["note"] and all(other[name] == row[name] for name in same)]
    return float(row["step_s"]) > ODD * min(shares, default=float("inf"))


def feature_needed(row):
    if not all(row[name] for name in ("dp", "tp", "pp", "micro", "global_batch")):
        return "a stated layout"
    if row["consistent"] != "yes":
        return "numbers of processes that agree"
    if "processes per node" in row["note"]:
        return "several devices in the memory of a node"
    if recomputation_of(row) not in ("yes", "no"):
        return "a stated recomputation"
    return ""


def converted(row, index, source):
    odd = bool(row["step_s"]) and is_odd(row, source)
    base = {
        "id": f"{row['model']}-n{row['nodes']}-d{row['dp']}-t{row['tp']}-p{row['pp']}-{row['pytorch'] or 'x'}-{row['ghz']}-{index}",
        "source": "fugaku",
        "kind": "derived" if "estimated" in row["note"] else "measured",
        "seconds": "" if odd else row["step_s"],
        "split": rows.split_of(index),
    }
    needs = feature_needed(row)
    if needs:
        return rows.refused(needs, **base)
    data, tensor, stages = int(row["dp"]), int(row["tp"]), int(row["pp"])
    micro, batch = int(row["micro"]), int(row["global_batch"])
    return {
        **base,
        **rows.gpt(row["layers"], row["d_model"], row["heads"], row["seq"], rows.padded(50257, tensor), batch),
        "dtype": "f32",
        "hardware": software_of(row),
        **rows.split_devices(data, tensor, stages),
        "microbatches": batch // (micro * data),
        "recompute": "full" if recomputation_of(row) == "yes" else "",
        "group": f"{row['model']}-{row['seq']}-{batch}-{software_of(row)}-{row['pytorch'] or 'x'}",
        "status": row["status"],
        "memory_bytes": int(float(row["memory_mib"]) * 2**20) if row["memory_mib"] else "",
        "memory_kind": "reserved" if row["memory_mib"] else "",
        "note": "; ".join(word for word in (f"{row['ghz']} GHz, PyTorch {row['pytorch'] or 'not stated'}", row["note"],
                                            f"{row['step_s']} s contradict a run on more nodes" if odd else "") if word),
    }


if __name__ == "__main__":
    source = rows.read("fugaku_cpu_training.csv")
    rows.write(
        ["Fugaku-LLM/DeepSpeedFugaku, experiments/124m_13b_benchmarking/*.md in its history, BSD-3/Apache-2.0", NOTE, RULE],
        [converted(row, index, source) for index, row in enumerate(source)],
    )
