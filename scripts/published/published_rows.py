"""What the converters of published runs share: the columns of the rows that `mtfc validate` reads, and the models.

A converter reads one file of published facts and prints rows. Conventions of the software that made the runs are options
of the model and the layout; what is assumed stands in `note`.

    python3 scripts/published/vtrain.py FOLDER > testdata/published/vtrain.csv
"""

import csv
import pathlib
import sys

COLUMNS = [
    "id", "source", "kind", "model", "set", "dtype", "gradients", "held_gradients", "workspace_bytes", "hardware",
    "devices", "mesh", "layout", "zero", "microbatches", "recompute", "without_passes", "reduction", "software_s",
    "sequence_parallel", "stages", "chunks", "group", "status", "part", "seconds", "memory_bytes", "memory_kind", "stage",
    "split", "needs", "note",
]
MODELS = pathlib.Path(__file__).resolve().parents[2] / "models"
DENSE = "batch:data,heads:model,d_ff:model,vocab:model"


def read(name):
    """The rows of a file in the folder that the command line names. Its first line may be a comment."""
    path = pathlib.Path(sys.argv[1]) / name
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file if not line.startswith("# ") or line.startswith("# GPUs")]
    return list(csv.DictReader(lines))


def with_profile(row):
    """A row on hardware that no bundled profile describes is one that mtfc cannot express."""
    hardware = row.get("hardware", "")
    if not row.get("needs") and hardware and not (MODELS / "hardware" / (hardware + ".json")).exists():
        return {**row, "needs": f"a profile of {hardware}"}
    return row


def write(comments, rows):
    """Prints the columns that any row has."""
    rows = [with_profile(row) for row in rows]
    used = [column for column in COLUMNS if any(row.get(column, "") != "" for row in rows)]
    for comment in comments:
        print("# " + comment)
    writer = csv.DictWriter(sys.stdout, used, extrasaction="raise", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({column: row.get(column, "") for column in used if row.get(column, "") != ""})


def split_of(index):
    """A third of the rows is for constants to be fitted on."""
    return "train" if index % 3 == 0 else "test"


def padded(vocab, tensor):
    """Megatron's vocabulary is a multiple of 128 times the devices that share it."""
    multiple = 128 * tensor
    return -(-vocab // multiple) * multiple


def sets(**sizes):
    return " ".join(f"{name}={value}" for name, value in sizes.items())


def has_param(model, name):
    return f'"{name}"' in (MODELS / (model + ".json")).read_text(encoding="utf-8")


def gpt(layers, d_model, heads, length, vocab, batch, dropout=0.1, stored_scores=True, head_norms=False):
    """Megatron's GPT: positions that are learned, biases, gelu, tied embeddings, and scores that are stored."""
    sizes = dict(layers=layers, d_model=d_model, heads=heads, positions=length, vocab=vocab, batch=batch)
    if dropout:
        sizes["dropout"] = dropout
    if stored_scores and has_param("gpt2", "stored_scores"):
        sizes["stored_scores"] = 1
    if head_norms:
        sizes["head_norms"] = 1
    return {"model": "gpt2", "set": sets(**sizes)}


def llama(layers, d_model, heads, groups, d_ff, length, vocab, batch, tied=0):
    return {
        "model": "llama",
        "set": sets(layers=layers, d_model=d_model, attention_heads=heads, heads=groups, d_ff=d_ff, positions=length,
                    length=length, vocab=vocab, batch=batch, tied=tied),
    }


def split_devices(data, tensor, stages=1, context=1, expert=1):
    """The columns of a run on so many devices along each axis. Experts take a part of the data-parallel devices."""
    axes = [("data", data // expert), ("expert", expert), ("context", context), ("model", tensor)]
    mesh = ",".join(f"{name}:{size}" for name, size in axes if size > 1 or name in ("data", "model"))
    layout = DENSE if context == 1 and expert == 1 else "megatron"
    row = {"mesh": mesh, "layout": layout, "devices": data * tensor * context * stages}
    if stages > 1:
        row["stages"] = stages
    return row


def refused(needs, **columns):
    """A row that mtfc cannot express."""
    return {"needs": needs, "devices": 1, **columns}
