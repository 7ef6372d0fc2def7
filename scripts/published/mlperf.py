"""Results of MLPerf Training. Most are of fp8 or state no layout; they are kept so that they are refused by name."""

import published_rows as rows

FP8 = ("H100", "H200", "B200", "B300", "GB200", "GB300", "Gaudi2", "MI300X", "MI325X", "MI350X", "MI355X", "L40S", "Blackwell")


def feature_needed(row):
    if row["benchmark"] == "llama2_70b_lora":
        return "LoRA"
    if row["benchmark"] == "bert":
        return "MLPerf's BERT (packed sequences, LAMB)"
    if any(name in row["device"] for name in FP8):
        return "fp8"
    if not row["tp"]:
        return "a stated layout"
    return "a stated dtype"


def converted(row, index):
    return rows.refused(
        feature_needed(row),
        id=f"{row['round']} {row['submitter']} {row['system']} {row['benchmark']} {index}",
        source="mlperf",
        hardware=row["device"],
        seconds=row["step_s_median"] or row["step_s_with_eval"],
        split="test",
    )


if __name__ == "__main__":
    rows.write(
        ["mlcommons/training_results_v3.0..v5.1, results/<system>/<benchmark>/result_0.txt, Apache-2.0"],
        [converted(row, index) for index, row in enumerate(rows.read("mlperf_training.csv"))],
    )
