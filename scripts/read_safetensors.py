#!/usr/bin/env python3
"""Reads a .safetensors file with NumPy and nothing else, and prints its tensors: an independent look at what mtfc writes.
  scripts/read_safetensors.py FILE [NAME OUT.npy]"""
import json
import struct
import sys

import numpy as np

TYPES = {"F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8", "BOOL": "?", "F16": "<f2", "U8": "u1"}


def read(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    header.pop("__metadata__", None)
    data = np.memmap(path, mode="r", offset=8 + length)
    assert max((entry["data_offsets"][1] for entry in header.values()), default=0) == data.size
    return {name: np.frombuffer(data[slice(*entry["data_offsets"])].tobytes(), TYPES[entry["dtype"]])
            .reshape(entry["shape"]) for name, entry in header.items()}


if __name__ == "__main__":
    tensors = read(sys.argv[1])
    if len(sys.argv) > 3:
        np.save(sys.argv[3], tensors[sys.argv[2]])
    else:
        for name, value in sorted(tensors.items()):
            print(f"{name}  {value.dtype}  {list(value.shape)}  mean {value.mean():.6g}")
