#!/usr/bin/env python3
"""Reads a .safetensors file with NumPy and nothing else, and prints its tensors: an independent look at what mtfc writes.
  scripts/read_safetensors.py FILE [NAME OUT.npy]
  scripts/read_safetensors.py --check FILE      compares the tensors of a checkpoint with their checksums"""
import json
import struct
import sys

import numpy as np

TYPES = {"F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8", "BOOL": "?", "F16": "<f2", "U8": "u1"}


def read_header(path):
    """Returns the header and the position of the first element."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        return json.loads(file.read(length)), 8 + length


def read(path):
    header, start = read_header(path)
    header.pop("__metadata__", None)
    data = np.memmap(path, mode="r", offset=start)
    assert max((entry["data_offsets"][1] for entry in header.values()), default=0) == data.size
    return {name: np.frombuffer(data[slice(*entry["data_offsets"])].tobytes(), TYPES[entry["dtype"]])
            .reshape(entry["shape"]) for name, entry in header.items()}


def checksum(tensor):
    z = tensor.ravel().view(f"u{tensor.itemsize}") + np.arange(1, tensor.size + 1, dtype="u8") * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return int((z ^ z >> np.uint64(31)).sum(dtype="u8"))


def check(path):
    """Returns the names of the tensors that differ from their checksums. All must have one."""
    stored = json.loads(read_header(path)[0]["__metadata__"]["checksums"])
    tensors = read(path)
    assert stored.keys() == tensors.keys()
    return [name for name, tensor in tensors.items() if f"{checksum(tensor):016x}" != stored[name]]


if __name__ == "__main__":
    if sys.argv[1] == "--check":
        damaged = check(sys.argv[2])
        sys.exit(f"{sys.argv[2]}: damaged: {', '.join(damaged)}" if damaged else 0)
    tensors = read(sys.argv[1])
    if len(sys.argv) > 3:
        np.save(sys.argv[3], tensors[sys.argv[2]])
    else:
        for name, value in sorted(tensors.items()):
            print(f"{name}  {value.dtype}  {list(value.shape)}  mean {value.mean():.6g}")
