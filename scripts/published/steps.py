"""Steps that papers state: Narayanan et al. 2021, Korthikanti et al. 2022, and others."""

import published_rows as rows

# Microbatches and chunks of each stage, by Megatron's examples/sc21/run_table_1.sh.
NARAYANAN = {1.7: (16, 1), 3.6: (16, 1), 7.5: (16, 1), 18.4: (8, 1), 39.1: (4, 1), 76.1: (2, 3), 145.6: (2, 2),
             310.1: (1, 2), 529.6: (1, 3), 1008.0: (1, 1)}


def seconds_of(row):
    if "forward ms" in row["metric"]:
        return round(sum(float(part) for part in row["value"].split(";")) / 1000, 6)
    return row["step_s_derived"] if row["metric"] != "s/iteration" else row["value"]


def megatron(row):
    size, stages = float(row["params_B"]), int(row["pp"])
    data, tensor = int(row["dp"]), int(row["tp"])
    is_narayanan = row["source"].startswith("Narayanan")
    micro, chunks = NARAYANAN[size] if is_narayanan else (int(row["micro"]), int(row["vpp"] or 1))
    batch = int(row["global_batch"])
    words = row["needs"]
    return {
        **rows.gpt(row["layers"], row["d_model"], row["heads"], row["seq"], 51200, batch),
        "dtype": "bf16",
        "hardware": "selene",
        **rows.split_devices(data, tensor, stages),
        "microbatches": batch // (micro * data),
        "recompute": "selective" if "selective" in words else "whole" if "recompute" in words else "",
        "sequence_parallel": "yes" if "+seq" in words or "tp,seq" in words else "",
        "chunks": chunks if stages > 1 and chunks > 1 else "",
        "note": "microbatches and chunks by run_table_1.sh of Megatron-LM" if is_narayanan else "",
    }


def converted(row, index):
    source = row["source"].split(" ")[0].lower()
    table = row["source"].split(" ")[1].lower()
    base = {
        "id": f"{row['source']} {row['model']} {row['params_B']} {row['needs'].split(', ')[-1]} {row['devices']}".replace("  ", " "),
        "source": f"{source}-{table}",
        "kind": "measured" if row["metric"] == "s/iteration" or " ms" in row["metric"] else "derived",
        "group": f"{row['model']}-{row['params_B']}",
        "seconds": seconds_of(row),
        "split": "test",
    }
    if source in ("narayanan2021", "korthikanti2022"):
        return {**megatron(row), **base, "part": "layer" if table == "t4" else ""}
    needs = {"gshard": "the sizes of GShard's experts",
             "mesh-tf": "a step time"}[source]
    return rows.refused(needs, **base)


if __name__ == "__main__":
    rows.write(
        ["Narayanan et al. 2021 (arXiv 2104.04473), Korthikanti et al. 2022 (arXiv 2205.05198), Lepikhin et al. 2020,"
         " Shazeer et al. 2018: figures of tables"],
        [converted(row, index) for index, row in enumerate(rows.read("steps.csv"))],
    )
